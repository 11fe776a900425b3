#include "tests/support/tensor_compare.h"

#include <QStringList>

#include <cmath>
#include <limits>
#include <vector>

namespace kvscope {
namespace {

QString sizesText(at::IntArrayRef sizes)
{
    QStringList parts;
    for (const auto size : sizes)
        parts << QString::number(size);
    return '[' + parts.join(", ") + ']';
}

QString indexText(std::int64_t flatIndex, at::IntArrayRef sizes)
{
    std::vector<std::int64_t> index(sizes.size());
    for (std::size_t dim = sizes.size(); dim-- > 0;) {
        index[dim] = flatIndex % sizes[dim];
        flatIndex /= sizes[dim];
    }
    return sizesText(index);
}

/// How far an element lies outside its bound; at most 0 inside it.
double excess(double got, double want, double atol, double rtol)
{
    if (std::isnan(got) || std::isnan(want) || std::isinf(got) || std::isinf(want)) {
        const bool same = got == want || (std::isnan(got) && std::isnan(want));
        return same ? 0.0 : std::numeric_limits<double>::infinity();
    }
    return std::abs(got - want) - (atol + rtol * std::abs(want));
}

} // namespace

QString compareTensors(const at::Tensor& got, const at::Tensor& want, double atol, double rtol)
{
    if (!got.defined() || !want.defined())
        return got.defined() == want.defined() ? QString()
                                               : QStringLiteral("one tensor is undefined");
    if (got.sizes() != want.sizes())
        return QStringLiteral("got shape %1, want %2")
            .arg(sizesText(got.sizes()), sizesText(want.sizes()));
    const auto gotValues = got.to(at::kCPU, at::kDouble).contiguous();
    const auto wantValues = want.to(at::kCPU, at::kDouble).contiguous();
    const auto* gotData = gotValues.const_data_ptr<double>();
    const auto* wantData = wantValues.const_data_ptr<double>();

    std::int64_t outside = 0;
    std::int64_t worst = -1;
    double worstExcess = 0.0;
    for (std::int64_t i = 0; i < wantValues.numel(); ++i) {
        const double over = excess(gotData[i], wantData[i], atol, rtol);
        if (over <= 0.0)
            continue;
        ++outside;
        if (over > worstExcess) {
            worstExcess = over;
            worst = i;
        }
    }
    if (worst < 0)
        return {};
    return QStringLiteral(
               "%1 of %2 elements differ, worst at %3: got %4, want %5 (allowed %6, off by %7)")
        .arg(outside)
        .arg(wantValues.numel())
        .arg(indexText(worst, want.sizes()))
        .arg(gotData[worst], 0, 'g', 9)
        .arg(wantData[worst], 0, 'g', 9)
        .arg(atol + rtol * std::abs(wantData[worst]), 0, 'g', 3)
        .arg(std::abs(gotData[worst] - wantData[worst]), 0, 'g', 3);
}

} // namespace kvscope

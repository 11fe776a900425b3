#pragma once

#include <QByteArray>
#include <QString>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <string>

namespace kvscope {

/// How the time of one operation grows from a text to one of four times its length.
struct Scaling
{
    double small = std::numeric_limits<double>::max(); ///< processor seconds, the best of five
    double large = std::numeric_limits<double>::max();

    /// Quadratic time gives 16, linear 4; the rest is room for a busy machine's noise.
    bool isNearLinear() const { return large < 10 * small + 0.01; }
    std::string text() const
    {
        return QString("%1 s, then %2 s for 4 times the text").arg(small).arg(large).toStdString();
    }
};

/// Processor time that `operation` takes, in seconds; unlike time on the wall, what other programs
/// do hardly changes it.
inline double processorSeconds(const std::function<void()>& operation)
{
    const std::clock_t begin = std::clock();
    operation();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Times `operation` on `unit` repeated to `bytes` and to four times that.
inline Scaling timeScaling(const std::string& unit, int bytes,
                           const std::function<void(const std::string&)>& operation)
{
    const auto repeated = [&](int length) {
        return QByteArray::fromStdString(unit)
            .repeated(length / static_cast<int>(unit.size()))
            .toStdString();
    };
    const std::string small = repeated(bytes);
    const std::string large = repeated(4 * bytes);
    Scaling scaling;
    for (int round = 0; round < 5; ++round) {
        scaling.small = std::min(scaling.small, processorSeconds([&] { operation(small); }));
        scaling.large = std::min(scaling.large, processorSeconds([&] { operation(large); }));
    }
    return scaling;
}

} // namespace kvscope

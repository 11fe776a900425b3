// linear_speed [THREADS] [ROWS] [COLS] [REPEATS]: one token's product y = W x in every storage
// type, out of cache and as a decode step has it, types interleaved, the best of REPEATS rounds; as
// JSON lines. Beside it the memory bandwidth that the same threads reach, and products of 4 to 48
// rows of x by both ways that linear() chooses from.

#include "engine/kernels/bandwidth.h"
#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/linear.h"
#include "engine/kernels/linear/linear_paths.h"
#include "engine/kernels/linear/linear_rows.h"
#include "engine/kernels/together.h"
#include "tests/engine/kernels/linear/weight_samples.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace kvscope;

namespace {

// Weights of one type that together are far larger than the last cache, so that each product reads
// memory.
constexpr std::uint64_t kBytesPerType = std::uint64_t{96} << 20;

// Rows of x that the two ways are compared with, on at most 512 rows of the weight.
constexpr std::array<std::int64_t, 6> kManyRows{4, 8, 16, 24, 32, 48};

struct Subject
{
    StorageType type = StorageType::F32;
    std::vector<WeightMatrix> weights;
    double bestOne = 1e9;  ///< seconds, one row of x
    double bestMean = 1e9; ///< seconds, the mean of the copies in the best round
    std::array<double, kManyRows.size()> bestInPlace{};  ///< seconds
    std::array<double, kManyRows.size()> bestExpanded{}; ///< seconds
};

Subject makeSubject(StorageType type, std::int64_t rows, std::int64_t cols)
{
    Subject subject;
    subject.type = type;
    subject.weights.push_back(randomWeight(type, rows, cols));
    while (subject.weights.size() * subject.weights.front().bytes() < kBytesPerType) {
        WeightMatrix copy = subject.weights.front();
        copy.data = copy.data.clone();
        subject.weights.push_back(copy);
    }
    return subject;
}

template <typename Product>
double secondsOf(const Product& product)
{
    const auto start = std::chrono::steady_clock::now();
    product();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void keepBest(double& best, double seconds)
{
    best = best > 0.0 ? std::min(best, seconds) : seconds;
}

std::string microseconds(const std::array<double, kManyRows.size()>& seconds)
{
    std::string text;
    for (const double each : seconds)
        text += (text.empty() ? "" : ",") + std::to_string(std::lround(each * 1e6));
    return "[" + text + "]";
}

/// As members of a decode step share it.
void multiplyTogether(const at::Tensor& one, const WeightRows& weight, const at::Tensor& y)
{
    static std::vector<InputRow> inputs(static_cast<std::size_t>(at::get_num_threads()));
    runTogether([&](Team& team, int member) {
        InputRow& input = inputs[static_cast<std::size_t>(member)];
        input.reserve(weight.cols());
        input.set(one.const_data_ptr<float>(), weight.cols());
        weight.multiply(input, y.mutable_data_ptr<float>(), team.first(weight.rows(), member),
                        team.end(weight.rows(), member));
    });
}

/// One round; the best single product counts, so that a busy machine interrupts as few as can be.
void measure(Subject& subject, const at::Tensor& one, const at::Tensor& many)
{
    double sum = 0.0;
    const at::Tensor y = at::empty({subject.weights.front().rows}, one.options());
    for (const WeightMatrix& weight : subject.weights) {
        const WeightRows rows(weight, Precision::Fast, true);
        const double seconds = secondsOf([&] { multiplyTogether(one, rows, y); });
        subject.bestOne = std::min(subject.bestOne, seconds);
        sum += seconds;
    }
    subject.bestMean =
        std::min(subject.bestMean, sum / static_cast<double>(subject.weights.size()));
    WeightMatrix part = subject.weights.front();
    part.rows = std::min<std::int64_t>(512, part.rows);
    part.data = part.data.narrow(0, 0, part.rows);
    const PanelKernels* panels = kernelsForManyRows(part.type, Precision::Fast);
    for (std::size_t i = 0; i < kManyRows.size(); ++i) {
        const at::Tensor x = many.narrow(0, 0, kManyRows[i]);
        keepBest(subject.bestInPlace[i],
                 secondsOf([&] { linearFewRows(x, part, Precision::Fast, bestInstructionSet()); }));
        keepBest(subject.bestExpanded[i], secondsOf([&] {
                     panels != nullptr ? linearPanels(x, part, *panels) : linearManyRows(x, part);
                 }));
    }
}

std::int64_t argument(int argc, char** argv, int at, std::int64_t otherwise)
{
    return argc > at ? std::atoll(argv[at]) : otherwise;
}

} // namespace

int main(int argc, char** argv)
{
    at::set_num_threads(static_cast<int>(argument(argc, argv, 1, at::get_num_threads())));
    const std::int64_t rows = argument(argc, argv, 2, 4096);
    const std::int64_t cols = argument(argc, argv, 3, 4096);
    const std::int64_t repeats = argument(argc, argv, 4, 15);
    std::vector<Subject> subjects;
    for (const auto type : weightTypes())
        if (type != StorageType::F32 && cols % blockElements(type) == 0)
            subjects.push_back(makeSubject(type, rows, cols));
    const at::Tensor one = at::randn({1, cols});
    const at::Tensor many = at::randn({kManyRows.back(), cols});
    double bandwidth = 0;
    for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
        bandwidth = std::max(bandwidth, measureReadBandwidth(kBytesPerType, 4));
        for (Subject& subject : subjects)
            measure(subject, one, many);
    }
    std::printf("{\"threads\":%d,\"rows\":%lld,\"cols\":%lld,\"bandwidth_gb_s\":%.2f}\n",
                at::get_num_threads(), static_cast<long long>(rows), static_cast<long long>(cols),
                bandwidth / 1e9);
    for (const Subject& subject : subjects) {
        const double bytes = static_cast<double>(subject.weights.front().bytes());
        const double weights = static_cast<double>(rows * cols);
        std::printf("{\"type\":\"%s\",\"one_row_us\":%.0f,\"mean_us\":%.1f,\"gb_s\":%.2f,\"of_"
                    "bandwidth\":%.2f,"
                    "\"gweights_s\":%.2f,\"rows_in_place_us\":%s,\"rows_expanded_us\":%s}\n",
                    std::string(storageName(subject.type)).c_str(), subject.bestOne * 1e6,
                    subject.bestMean * 1e6, bytes / subject.bestOne / 1e9,
                    bytes / subject.bestOne / bandwidth, weights / subject.bestOne / 1e9,
                    microseconds(subject.bestInPlace).c_str(),
                    microseconds(subject.bestExpanded).c_str());
    }
    return 0;
}

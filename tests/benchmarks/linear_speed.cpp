// linear_speed [THREADS] [ROWS] [COLS] [REPEATS]: one token's product y = W x in every storage
// type, out of cache, types interleaved, the best of REPEATS rounds; as JSON lines. Beside it the
// memory bandwidth that the same threads reach, and the product of 16 rows of x.

#include "engine/kernels/bandwidth.h"
#include "engine/kernels/block_formats.h"
#include "engine/kernels/linear.h"
#include "engine/kernels/linear_paths.h"
#include "tests/engine/kernels/weight_samples.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace kvscope;

namespace {

// Weights of one type that together are far larger than the last cache, so that each product reads
// memory.
constexpr std::uint64_t kBytesPerType = std::uint64_t{96} << 20;

struct Subject
{
    StorageType type = StorageType::F32;
    std::vector<WeightMatrix> weights;
    double bestOne = 1e9;      ///< seconds, one row of x
    double bestMean = 1e9;     ///< seconds, the mean of the copies in the best round
    double bestInPlace = 1e9;  ///< seconds, 32 rows
    double bestExpanded = 1e9; ///< seconds, 32 rows
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

/// One round; the best single product counts, so that a busy machine interrupts as few as can be.
void measure(Subject& subject, const at::Tensor& one, const at::Tensor& many)
{
    double sum = 0.0;
    for (const WeightMatrix& weight : subject.weights) {
        const double seconds =
            secondsOf([&] { linearFewRows(one, weight, Precision::Fast, bestInstructionSet()); });
        subject.bestOne = std::min(subject.bestOne, seconds);
        sum += seconds;
    }
    subject.bestMean =
        std::min(subject.bestMean, sum / static_cast<double>(subject.weights.size()));
    WeightMatrix part = subject.weights.front();
    part.rows = std::min<std::int64_t>(512, part.rows);
    part.data = part.data.narrow(0, 0, part.rows);
    subject.bestInPlace = std::min(
        subject.bestInPlace,
        secondsOf([&] { linearFewRows(many, part, Precision::Fast, bestInstructionSet()); }));
    subject.bestExpanded =
        std::min(subject.bestExpanded, secondsOf([&] { linearManyRows(many, part); }));
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
    const at::Tensor many = at::randn({32, cols});
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
                    "\"gweights_s\":%.2f,\"in_place_32_us\":%.0f,\"expanded_32_us\":%.0f}\n",
                    std::string(storageName(subject.type)).c_str(), subject.bestOne * 1e6,
                    subject.bestMean * 1e6, bytes / subject.bestOne / 1e9,
                    bytes / subject.bestOne / bandwidth, weights / subject.bestOne / 1e9,
                    subject.bestInPlace * 1e6, subject.bestExpanded * 1e6);
    }
    return 0;
}

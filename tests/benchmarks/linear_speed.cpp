// linear_speed [THREADS] [ROWS] [COLS] [REPEATS]: one token's product y = W x in every storage
// type, out of cache, types interleaved, the best of REPEATS rounds; as JSON lines. Beside it the
// memory bandwidth that the same threads reach, and the product of 16 rows of x.

#include "engine/kernels/bandwidth.h"
#include "engine/kernels/block_formats.h"
#include "engine/kernels/linear.h"
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
    double bestOne = 1e9;  ///< seconds, one row of x
    double bestMany = 1e9; ///< seconds, 16 rows
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

double secondsPerProduct(const at::Tensor& x, const std::vector<WeightMatrix>& weights)
{
    const auto start = std::chrono::steady_clock::now();
    for (const WeightMatrix& weight : weights)
        linear(x, weight, Precision::Fast);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count() / static_cast<double>(weights.size());
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
        if (type != StorageType::F32)
            subjects.push_back(makeSubject(type, rows, cols));
    const at::Tensor one = at::randn({1, cols});
    const at::Tensor many = at::randn({16, cols});
    double bandwidth = 0;
    for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
        bandwidth = std::max(bandwidth, measureReadBandwidth(std::uint64_t{256} << 20, 1));
        for (Subject& subject : subjects) {
            subject.bestOne = std::min(subject.bestOne, secondsPerProduct(one, subject.weights));
            if (repeat < 3)
                subject.bestMany =
                    std::min(subject.bestMany, secondsPerProduct(many, {subject.weights.front()}));
        }
    }
    std::printf("{\"threads\":%d,\"rows\":%lld,\"cols\":%lld,\"bandwidth_gb_s\":%.2f}\n",
                at::get_num_threads(), static_cast<long long>(rows), static_cast<long long>(cols),
                bandwidth / 1e9);
    for (const Subject& subject : subjects) {
        const double bytes = static_cast<double>(subject.weights.front().bytes());
        const double weights = static_cast<double>(rows * cols);
        std::printf("{\"type\":\"%s\",\"one_row_us\":%.0f,\"gb_s\":%.2f,\"of_bandwidth\":%.2f,"
                    "\"gweights_s\":%.2f,\"16_rows_us\":%.0f}\n",
                    std::string(storageName(subject.type)).c_str(), subject.bestOne * 1e6,
                    bytes / subject.bestOne / 1e9, bytes / subject.bestOne / bandwidth,
                    weights / subject.bestOne / 1e9, subject.bestMany * 1e6);
    }
    return 0;
}

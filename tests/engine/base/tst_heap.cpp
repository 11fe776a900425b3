#include "engine/base/heap.h"

#include <QtTest>

#include <array>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>

using namespace kvscope;

namespace {

constexpr std::size_t kArrayBytes = std::size_t{2} << 20;
constexpr std::size_t kNumArrays = 7; // less than is kept, more than glibc keeps by itself
constexpr long kPageBytes = 4096;

/// Takes arrays, writes to each of their pages, and frees them. \return pages that had to be
/// brought in
long pagesOfOneRound()
{
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    std::array<void*, kNumArrays> arrays{};
    for (void*& array : arrays) {
        array = std::malloc(kArrayBytes);
        std::memset(array, 1, kArrayBytes);
    }
    for (void* array : arrays)
        std::free(array);
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

} // namespace

class TestHeap : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void freedMemoryIsUsedAgain()
    {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("the C library's own heap is not in use");
#endif
        pagesOfOneRound(); // from here on glibc's threshold lets such arrays into the heap
        constexpr long kPages = kNumArrays * kArrayBytes / kPageBytes;
        QVERIFY2(pagesOfOneRound() > kPages / 2, "without it, memory is given back each time");
        keepFreedMemory();
        pagesOfOneRound();
        const long pages = pagesOfOneRound();
        QVERIFY2(pages < kPages / 10, qPrintable(QString::number(pages)));
    }
};

QTEST_GUILESS_MAIN(TestHeap)
#include "tst_heap.moc"

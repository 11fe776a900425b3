#include "engine/train/expert_balance.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <QtTest>

#include <cmath>

using namespace kvscope;

class TestExpertBalance : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void isOneWhereEveryTextVisitsAllEvenly()
    {
        const at::Tensor probabilities = at::full({4, 4}, 0.25);
        const at::Tensor visited = at::tensor({0, 1, 2, 3, 1, 3, 0, 2}, at::kLong).view({4, 2});
        QCOMPARE(expertBalance(probabilities, visited, 2).item<float>(), 1.0F);
    }

    void textsOfTwoKindsDoNotEvenEachOtherOut()
    {
        // Two texts of two tokens; the first goes to experts 0 and 1 alone, the second to 2 and 3.
        const at::Tensor probabilities = at::tensor({0.5F, 0.5F, 0.F, 0.F, 0.5F, 0.5F, 0.F, 0.F, //
                                                     0.F, 0.F, 0.5F, 0.5F, 0.F, 0.F, 0.5F, 0.5F})
                                             .view({4, 4});
        const at::Tensor visited = at::tensor({0, 1, 1, 0, 2, 3, 3, 2}, at::kLong).view({4, 2});
        QCOMPARE(expertBalance(probabilities, visited, 2).item<float>(), 2.0F);
        QCOMPARE(expertBalance(probabilities, visited, 1).item<float>(), 1.0F);
    }

    void isTheMeanOfTheTexts()
    {
        // By hand: loads (1/2, 1/2) and (1, 0), mean probabilities (0.6, 0.4) and (0.8, 0.2):
        // 2 * (0.5 + 0.8) / 2.
        const at::Tensor probabilities =
            at::tensor({0.8F, 0.2F, 0.4F, 0.6F, 0.9F, 0.1F, 0.7F, 0.3F}).view({4, 2});
        const at::Tensor visited = at::tensor({0, 1, 0, 0}, at::kLong).view({4, 1});
        QVERIFY(std::abs(expertBalance(probabilities, visited, 2).item<float>() - 1.3F) < 1e-6F);
    }
};

QTEST_GUILESS_MAIN(TestExpertBalance)
#include "tst_expert_balance.moc"

#include "widgets/token_history.h"
#include "widgets/token_panel.h"
#include "widgets/token_panel_table.h"
#include "widgets/token_selection.h"

#include <QTableView>
#include <QtTest>

#include <algorithm>

using namespace kvscope;

namespace {

/// Layers alternate windowed, global, ... as in GPT-OSS-Lite; 1 KiB a token and layer.
CacheSnapshot alternatingCache(int layers, std::int64_t window, std::int64_t length)
{
    CacheSnapshot cache;
    cache.contextLength = length;
    for (int i = 0; i < layers; ++i) {
        LayerCacheState layer;
        layer.isWindowed = i % 2 == 0;
        layer.window = layer.isWindowed ? window : 0;
        layer.retained = layer.isWindowed ? std::min(window, length) : length;
        layer.capacity = layer.isWindowed ? window : length + 100;
        layer.firstPosition = length - layer.retained;
        layer.liveBytes = static_cast<std::uint64_t>(layer.retained) * 1024;
        cache.layers.push_back(layer);
    }
    return cache;
}

CacheSnapshot globalCache(int layers, std::int64_t length)
{
    CacheSnapshot cache = alternatingCache(layers, length, length);
    for (LayerCacheState& layer : cache.layers)
        layer.isWindowed = false;
    return cache;
}

void fill(TokenHistory& tokens, std::int64_t count)
{
    std::vector<TokenRecord> records;
    for (std::int64_t position = 0; position < count; ++position) {
        TokenRecord token;
        token.id = position % 100;
        token.position = position;
        token.piece = " w" + std::to_string(position);
        token.text = token.piece;
        token.nll = position < count / 2 ? -1.0 : 2.31;
        token.isPrompt = position < count / 2;
        records.push_back(token);
    }
    QVERIFY(tokens.append(records));
}

QString cell(const TokenPanel& panel, int row, int column)
{
    const auto* model = panel.findChild<QTableView*>()->model();
    return model->index(row, column).data().toString();
}

} // namespace

class TestTokenPanel : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void onlyGlobalLayersReachAnOldToken()
    {
        const CacheSnapshot cache = alternatingCache(12, 128, 1943);
        const TokenReach reach = reachOf(614, cache, {});
        QCOMPARE(reach.verdict, TokenVerdict::GlobalOnly);
        QCOMPARE(reach.layersHolding, 6);
        QCOMPARE(reach.heldBytes, std::uint64_t(6 * 1024));
        QVERIFY(reach.layers[0] == (LayerReach{true, false, 614 % 128, 742}));
        QVERIFY(reach.layers[1] == (LayerReach{false, true, 614, 0}));
    }

    void windowsEdgeIsExact()
    {
        const CacheSnapshot cache = alternatingCache(12, 128, 1943);
        QCOMPARE(reachOf(1814, cache, {}).verdict, TokenVerdict::GlobalOnly);
        QCOMPARE(reachOf(1815, cache, {}).verdict, TokenVerdict::Everywhere);
        QCOMPARE(reachOf(1815, cache, {}).leavesWindowsIn, 1);
        QCOMPARE(reachOf(1871, cache, {}).leavesWindowsIn, 57);
        QCOMPARE(reachOf(1942, cache, {}).leavesWindowsIn, 128);
        QCOMPARE(reachOf(1943, cache, {}).verdict, TokenVerdict::NotCached);
        QCOMPARE(reachOf(-1, cache, {}).verdict, TokenVerdict::NotCached);
    }

    void modelOfWindowsAloneLosesItsTokens()
    {
        CacheSnapshot cache = alternatingCache(4, 16, 100);
        cache.layers[1] = cache.layers[3] = cache.layers[0];
        QCOMPARE(reachOf(50, cache, {}).verdict, TokenVerdict::Gone);
        QCOMPARE(reachOf(90, cache, {}).verdict, TokenVerdict::Everywhere);
        cache.layers[1].window = cache.layers[1].capacity = cache.layers[1].retained = 64;
        cache.layers[1].firstPosition = 36;
        QCOMPARE(reachOf(50, cache, {}).verdict, TokenVerdict::SomeLayers);
    }

    void bytesComeFromTheModelWhereItSaysThem()
    {
        CacheSnapshot cache = alternatingCache(2, 16, 100);
        cache.batch = 3;
        ModelDescription model;
        model.layers.resize(2);
        model.layers[1].cacheBytesPerToken = 500;
        QCOMPARE(reachOf(10, cache, model).heldBytes, std::uint64_t(1500));
    }

    void emptyCacheHoldsNothing()
    {
        QCOMPARE(reachOf(0, CacheSnapshot(), {}).verdict, TokenVerdict::NotCached);
        QVERIFY(foldedRows({}).empty());
    }

    void alikeLayersAreOneRow()
    {
        const auto rows = foldedRows(reachOf(7, globalCache(30, 50), {}).layers);
        QCOMPARE(rows.size(), std::size_t(1));
        QCOMPARE(rows[0].firstLayer, 0);
        QCOMPARE(rows[0].lastLayer, 29);
        QCOMPARE(foldedRows(reachOf(7, alternatingCache(12, 16, 50), {}).layers).size(),
                 std::size_t(12));
        QCOMPARE(foldedRows(reachOf(7, globalCache(2, 50), {}).layers).size(), std::size_t(2));
    }

    // Property: folding loses and invents nothing.
    void foldedRowsCoverEveryLayerOnce()
    {
        std::vector<LayerReach> layers;
        for (int i = 0; i < 64; ++i)
            layers.push_back({(i / 5) % 2 == 0, (i * 7) % 11 < 6, i / 9, 0});
        std::int64_t next = 0;
        for (const ReachRow& row : foldedRows(layers)) {
            QCOMPARE(row.firstLayer, next);
            for (auto layer = row.firstLayer; layer <= row.lastLayer; ++layer)
                QVERIFY(layers[static_cast<std::size_t>(layer)] == row.reach);
            next = row.lastLayer + 1;
        }
        QCOMPARE(next, 64);
    }

    void pinnedComesBeforeHoveredBeforeNewest()
    {
        TokenHistory tokens;
        TokenSelectionModel selection;
        TokenPanel panel;
        panel.setTokens(&tokens);
        panel.setSelection(&selection);
        QVERIFY(!panel.position());
        fill(tokens, 100);
        selection.setTokenCount(100);
        QTRY_COMPARE(panel.position().value_or(-1), 99);
        selection.hover(40);
        QCOMPARE(panel.position().value_or(-1), 40);
        selection.pin(20);
        QCOMPARE(panel.position().value_or(-1), 20);
        selection.clear();
        selection.clearHover();
        QCOMPARE(panel.position().value_or(-1), 99);
    }

    void panelSaysWhoHoldsTheToken()
    {
        TokenHistory tokens;
        TokenSelectionModel selection;
        TokenPanel panel;
        panel.setTokens(&tokens);
        panel.setSelection(&selection);
        fill(tokens, 1943);
        selection.setTokenCount(1943);
        panel.setCache(alternatingCache(12, 128, 1943));
        selection.pin(614);
        QCOMPARE(panel.verdict(), QStringLiteral("Only global layers still reach it"));
        QCOMPARE(panel.verdictDetail(), QStringLiteral("6 of 12 layers hold it, 6.00 KiB in all"));
        QCOMPARE(cell(panel, 0, TokenReachModel::Kind), QStringLiteral("windowed"));
        QCOMPARE(cell(panel, 0, TokenReachModel::Holds), QStringLiteral("✕ left at 742"));
        QCOMPARE(cell(panel, 0, TokenReachModel::Slot), QStringLiteral("(102)"));
        QCOMPARE(cell(panel, 1, TokenReachModel::Holds), QStringLiteral("✓ index"));
        QCOMPARE(cell(panel, 1, TokenReachModel::Slot), QStringLiteral("614"));
        QVERIFY(panel.accessibleDescription().contains("Only global layers still reach it"));
        QVERIFY(panel.accessibleDescription().contains("1,328 tokens"));
        selection.pin(1900);
        QVERIFY(panel.accessibleDescription().contains("2.31 nats"));
    }

    void tokenThatWasDroppedIsNotShown()
    {
        TokenHistory tokens;
        TokenSelectionModel selection;
        TokenPanel panel;
        panel.resize(262, 440);
        panel.setTokens(&tokens);
        panel.setSelection(&selection);
        fill(tokens, 100);
        selection.setTokenCount(100);
        selection.pin(80);
        tokens.truncate(10);
        QVERIFY(!panel.position());
        QVERIFY(!panel.grab().isNull());
    }
};

QTEST_MAIN(TestTokenPanel)
#include "tst_token_panel.moc"

#include "widgets/open_dialog.h"

#include "widgets/checks_model.h"
#include "widgets/checks_view.h"
#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/open_options.h"
#include "widgets/open_summary.h"
#include "widgets/open_verdict.h"

#include <QApplication>
#include <QClipboard>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMimeData>
#include <QPainter>
#include <QPushButton>
#include <QScreen>
#include <QSignalBlocker>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTabWidget>
#include <QVBoxLayout>

namespace kvscope {
namespace {

constexpr int kAskMilliseconds = 150;
constexpr QSize kFirstSize{1000, 720};
constexpr QSize kSmallest{560, 340};
constexpr int kRecentWidth = 210;

/// A path as its name in bold over its folder.
class PathDelegate : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override
    {
        return {80, QFontMetrics(uiFont()).height() +
                        QFontMetrics(uiFont(TextSize::Secondary)).height() + spacing::kWide};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override
    {
        const Theme& theme = Theme::current();
        const bool isChosen = option.state.testFlag(QStyle::State_Selected);
        painter->fillRect(option.rect, isChosen ? theme.highlightBackground : theme.panel);
        if (option.state.testFlag(QStyle::State_HasFocus))
            painter->fillRect(QRect(option.rect.topLeft(), QSize(2, option.rect.height())),
                              theme.highlight);
        painter->fillRect(QRect(option.rect.bottomLeft(), QSize(option.rect.width(), 1)),
                          theme.grid);
        const QString path = index.data(Qt::UserRole).toString();
        const QRect area = option.rect.adjusted(spacing::kStep + 2, 5, -spacing::kStep, -5);
        const auto line = [&](const QFont& font, const QColor& color, int alignment,
                              const QString& text, Qt::TextElideMode mode) {
            painter->setFont(font);
            painter->setPen(color);
            painter->drawText(area, alignment | Qt::TextSingleLine,
                              QFontMetrics(font).elidedText(text, mode, area.width()));
        };
        line(uiFont(TextSize::Body, QFont::Bold), theme.ink, Qt::AlignTop,
             QFileInfo(path).fileName(), Qt::ElideMiddle);
        line(uiFont(TextSize::Secondary), theme.ink3, Qt::AlignBottom, QFileInfo(path).path(),
             Qt::ElideMiddle);
    }
};

} // namespace

OpenDialog::OpenDialog(QWidget* parent)
    : QDialog(parent)
    , m_path(new QLineEdit)
    , m_recent(new QListWidget)
    , m_pages(new QTabWidget)
    , m_summary(new OpenSummary)
    , m_checks(new ChecksView)
    , m_options(new OpenOptions)
    , m_command(new ElidedLabel)
    , m_verdict(new ElidedLabel)
    , m_open(new QPushButton(tr("&Open")))
{
    setWindowTitle(tr("Open a checkpoint"));
    setAcceptDrops(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(spacing::kWide, spacing::kWide, spacing::kWide, spacing::kWide);
    column->setSpacing(spacing::kStep);
    column->addWidget(buildPathRow());
    auto* split = new QSplitter(Qt::Horizontal);
    split->addWidget(buildRecent());
    split->addWidget(buildRight());
    split->setStretchFactor(1, 1);
    split->setSizes({kRecentWidth, kFirstSize.width() - kRecentWidth});
    column->addWidget(split, 1);
    column->addWidget(buildBottom());
    m_ask.setSingleShot(true);
    m_ask.setInterval(kAskMilliseconds);
    connect(&m_ask, &QTimer::timeout, this, &OpenDialog::askForPreview);
    setMinimumSize(kSmallest);
    const QSize room = screen()->availableSize() - QSize(40, 60);
    resize(kFirstSize.boundedTo(room).expandedTo(kSmallest));
    showPreview();
}

QWidget* OpenDialog::buildPathRow()
{
    auto* widget = new QWidget;
    auto* row = new QHBoxLayout(widget);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(spacing::kStep);
    m_path->setFont(digitFont());
    m_path->setPlaceholderText(tr("A .gguf file, a Hugging Face folder, or a GPT-OSS-Lite folder"));
    m_path->setAccessibleName(tr("Path of the model"));
    connect(m_path, &QLineEdit::textEdited, this, &OpenDialog::pathEdited);
    auto* file = new QPushButton(tr("&File…"));
    auto* folder = new QPushButton(tr("Fo&lder…"));
    row->addWidget(m_path, 1);
    for (QPushButton* button : {file, folder}) {
        button->setAutoDefault(false);
        row->addWidget(button);
    }
    connect(file, &QPushButton::clicked, this, &OpenDialog::browseFile);
    connect(folder, &QPushButton::clicked, this, &OpenDialog::browseFolder);
    return widget;
}

QWidget* OpenDialog::buildRecent()
{
    auto* widget = new QWidget;
    auto* column = new QVBoxLayout(widget);
    column->setContentsMargins(0, 0, spacing::kTight, 0);
    column->setSpacing(spacing::kTight);
    auto* label = new QLabel(tr("Re&cent"));
    label->setBuddy(m_recent);
    m_recent->setAccessibleName(tr("Recent models"));
    m_recent->setItemDelegate(new PathDelegate(m_recent));
    m_recent->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_recent->setUniformItemSizes(true);
    m_recent->setMinimumWidth(90);
    column->addWidget(label);
    column->addWidget(m_recent, 1);
    auto* note = new QLabel(tr("Dropping a file or folder here works too."));
    note->setWordWrap(true);
    note->setFont(uiFont(TextSize::Secondary));
    column->addWidget(note);
    connect(m_recent, &QListWidget::currentItemChanged, this, [this](QListWidgetItem* item) {
        if (item != nullptr)
            setPath(item->data(Qt::UserRole).toString());
    });
    connect(m_recent, &QListWidget::itemActivated, this, [this] { openChosen(); });
    return widget;
}

QWidget* OpenDialog::buildRight()
{
    auto* widget = new QWidget;
    auto* column = new QVBoxLayout(widget);
    column->setContentsMargins(spacing::kTight, 0, 0, 0);
    column->setSpacing(spacing::kWide);
    m_pages->setDocumentMode(true);
    m_pages->addTab(m_summary, tr("&Summary"));
    m_pages->addTab(m_checks, tr("Chec&ks"));
    column->addWidget(m_pages, 1);
    column->addWidget(m_options);
    connect(m_options, &OpenOptions::choiceChanged, this, [this] {
        if (m_preview != nullptr && m_preview->opens())
            m_summary->setChoice(*m_preview, choice());
        showVerdict();
    });
    connect(m_options, &OpenOptions::rotaryChanged, this, [this] { m_ask.start(); });
    connect(m_checks, &ChecksView::exportFailed, this, &OpenDialog::exportFailed);
    return widget;
}

QWidget* OpenDialog::buildBottom()
{
    auto* widget = new QWidget;
    auto* column = new QVBoxLayout(widget);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(spacing::kTight);
    m_verdict->setAccessibleName(tr("Whether it can be opened"));
    column->addWidget(m_verdict);
    auto* row = new QHBoxLayout;
    row->setSpacing(spacing::kStep);
    m_command->setFont(digitFont(TextSize::Secondary));
    m_command->setInk(&Theme::ink3);
    m_command->setAccessibleName(tr("The same on the command line"));
    auto* copy = new QPushButton(tr("Copy command"));
    auto* cancel = new QPushButton(tr("Cancel"));
    row->addWidget(m_command, 1);
    row->addWidget(copy);
    row->addWidget(cancel);
    row->addWidget(m_open);
    column->addLayout(row);
    for (QPushButton* button : {copy, cancel})
        button->setAutoDefault(false);
    m_open->setDefault(true);
    connect(copy, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(commandLine()); });
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(m_open, &QPushButton::clicked, this, &OpenDialog::openChosen);
    return widget;
}

void OpenDialog::setRecent(const QStringList& paths)
{
    const QSignalBlocker blocker(m_recent);
    m_recent->clear();
    for (const QString& path : paths) {
        auto* item = new QListWidgetItem(QFileInfo(path).fileName(), m_recent);
        item->setData(Qt::UserRole, path);
        item->setToolTip(plainTooltip(path));
        if (path == this->path())
            m_recent->setCurrentItem(item);
    }
}

void OpenDialog::setRotaryOptions(const std::vector<RotaryOption>& options)
{
    m_options->setRotaryOptions(options);
}

void OpenDialog::setChoice(const OpenChoice& choice)
{
    m_options->setChoice(choice);
}

QString OpenDialog::path() const
{
    return m_path->text().trimmed();
}

OpenChoice OpenDialog::choice() const
{
    return m_options->choice();
}

void OpenDialog::setPath(const QString& path)
{
    if (path != this->path())
        forgetModelsChoice();
    m_path->setText(path);
    const QSignalBlocker blocker(m_recent);
    m_recent->setCurrentItem(nullptr);
    for (int row = 0; row < m_recent->count(); ++row)
        if (m_recent->item(row)->data(Qt::UserRole).toString() == path)
            m_recent->setCurrentRow(row);
    askForPreview();
}

void OpenDialog::forgetModelsChoice()
{
    OpenChoice kept = choice();
    kept.rotary.clear();
    kept.maxContext = 0;
    m_options->setChoice(kept);
}

void OpenDialog::pathEdited()
{
    forgetModelsChoice();
    const QSignalBlocker blocker(m_recent);
    m_recent->setCurrentItem(nullptr);
    m_preview.reset();
    m_open->setEnabled(false);
    m_ask.start();
}

void OpenDialog::askForPreview()
{
    m_ask.stop();
    m_preview.reset();
    ++m_request;
    if (!path().isEmpty())
        Q_EMIT previewRequested(m_request, path(), QString::fromStdString(choice().rotary));
    if (m_preview == nullptr)
        showPreview();
}

void OpenDialog::setPreview(quint64 request, std::shared_ptr<const OpenPreview> preview)
{
    if (request != m_request)
        return; // of a path or scheme that is no longer chosen
    m_preview = std::move(preview);
    showPreview();
}

void OpenDialog::showPreview()
{
    m_command->setText(path().isEmpty() ? QString() : commandLine());
    if (m_preview == nullptr) {
        m_checks->clear();
        if (path().isEmpty())
            m_summary->showMessage(tr("No model chosen"),
                                   tr("Choose a file or a folder above, or a recent one."));
        else
            m_summary->showMessage(tr("Reading the header…"), QFileInfo(path()).fileName());
    } else {
        m_options->setPreview(*m_preview);
        m_checks->setChecks(m_preview->checks, QFileInfo(path()).completeBaseName());
        if (m_preview->opens())
            m_summary->setPreview(*m_preview, choice());
        else
            m_summary->showMessage(QStringLiteral("✕ ") + tr("This does not open"),
                                   QString::fromStdString(m_preview->error) +
                                       QStringLiteral("\n\n") +
                                       tr("The page Checks lists what passed and what failed."));
    }
    const int failed = m_checks->checks().count(CheckResult::Failed);
    const int warned = m_checks->checks().count(CheckResult::Warning);
    const int total = m_checks->checks().rowCount();
    m_pages->setTabText(1, failed > 0   ? tr("Chec&ks: ✕ %1 of %2").arg(failed).arg(total)
                           : warned > 0 ? tr("Chec&ks: ! %1 of %2").arg(warned).arg(total)
                           : total > 0  ? tr("Chec&ks: ✓ %1").arg(total)
                                        : tr("Chec&ks"));
    showVerdict();
}

void OpenDialog::showVerdict()
{
    m_command->setText(path().isEmpty() ? QString() : commandLine());
    const bool opens = m_preview != nullptr && m_preview->opens();
    OpenVerdict verdict;
    if (m_preview != nullptr)
        verdict = verdictOn(*m_preview, choice());
    else if (!path().isEmpty())
        verdict.text = tr("Reading the header…");
    m_verdict->setText(verdict.text);
    m_verdict->setInk(verdict.ink);
    m_open->setEnabled(opens);
    m_open->setToolTip(opens ? QString() : plainTooltip(verdict.text));
}

QString OpenDialog::commandLine() const
{
    return inspectCommand(path(), choice(), m_pages->currentIndex() == 1);
}

QString OpenDialog::verdict() const
{
    return m_verdict->text();
}

void OpenDialog::showPage(Page page)
{
    m_pages->setCurrentIndex(page == Page::Checks ? 1 : 0);
}

void OpenDialog::browseFile()
{
    const QString path =
        QFileDialog::getOpenFileName(this, tr("Choose a checkpoint"), this->path(),
                                     tr("Checkpoints (*.gguf *.safetensors);;All files (*)"));
    if (!path.isEmpty())
        setPath(path);
}

void OpenDialog::browseFolder()
{
    const QString path =
        QFileDialog::getExistingDirectory(this, tr("Choose a model folder"), this->path());
    if (!path.isEmpty())
        setPath(path);
}

void OpenDialog::openChosen()
{
    if (!m_open->isEnabled())
        return;
    Q_EMIT openRequested(path(), choice());
    accept();
}

void OpenDialog::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls())
        event->acceptProposedAction();
}

void OpenDialog::dropEvent(QDropEvent* event)
{
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) {
            setPath(url.toLocalFile());
            break;
        }
    event->acceptProposedAction();
}

void OpenDialog::changeEvent(QEvent* event)
{
    QDialog::changeEvent(event);
    if (event->type() != QEvent::PaletteChange)
        return;
    // Later: it makes labels anew, and Qt is walking over the widgets there are.
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (m_preview != nullptr && m_preview->opens())
                m_summary->setPreview(*m_preview, choice());
        },
        Qt::QueuedConnection);
}

void OpenDialog::showEvent(QShowEvent* event)
{
    QDialog::showEvent(event);
    m_path->setFocus();
    m_path->selectAll();
}

} // namespace kvscope

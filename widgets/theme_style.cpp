#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QEvent>
#include <QPalette>
#include <QStyle>
#include <QStyleFactory>

#include <initializer_list>
#include <utility>

namespace kvscope {
namespace {

QPalette paletteOf(const Theme& theme)
{
    QPalette palette;
    palette.setColor(QPalette::Window, theme.window);
    palette.setColor(QPalette::WindowText, theme.ink);
    palette.setColor(QPalette::Base, theme.panel);
    palette.setColor(QPalette::AlternateBase, theme.alternateRow);
    palette.setColor(QPalette::Text, theme.ink);
    palette.setColor(QPalette::PlaceholderText, theme.ink3);
    palette.setColor(QPalette::Button, theme.isDark ? theme.dockTitle : theme.panel);
    palette.setColor(QPalette::ButtonText, theme.ink);
    palette.setColor(QPalette::BrightText, theme.bad);
    palette.setColor(QPalette::ToolTipBase, theme.panel);
    palette.setColor(QPalette::ToolTipText, theme.ink);
    palette.setColor(QPalette::Highlight, theme.highlight);
    palette.setColor(QPalette::HighlightedText, Qt::white);
    palette.setColor(QPalette::Link, theme.global);
    palette.setColor(QPalette::LinkVisited, theme.global);
    palette.setColor(QPalette::Light, theme.panel);
    palette.setColor(QPalette::Midlight, theme.grid);
    palette.setColor(QPalette::Mid, theme.line);
    palette.setColor(QPalette::Dark, theme.isDark ? theme.line : theme.evicted);
    palette.setColor(QPalette::Shadow, theme.isDark ? Qt::black : theme.ink3);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, theme.evicted);
    palette.setColor(QPalette::Disabled, QPalette::Highlight, theme.line);
    return palette;
}

/// Only what the palette cannot say: surfaces, edges and the height of bars.
constexpr const char* kSheet = R"(
QMainWindow::separator { background: @window; width: 4px; height: 4px; }
QMainWindow::separator:hover { background: @highlight; }
QMenuBar { background: @window; border: 0; padding: 2px 4px; }
QMenuBar::item { background: transparent; padding: 4px 8px; border-radius: 3px; }
QMenuBar::item:selected { background: @highlightBackground; color: @ink; }
QToolBar { background: @window; border: 0; border-bottom: 1px solid @line; padding: 3px 6px; spacing: 4px; }
QToolBar::separator { background: @line; width: 1px; margin: 5px 6px; }
QToolBar QToolButton { border: 1px solid transparent; border-radius: 3px; padding: 3px 8px; min-height: 18px; }
QToolBar QToolButton:hover { background: @dockTitle; }
QToolBar QToolButton:pressed { background: @line; }
QToolBar QToolButton:checked { background: @highlightBackground; border-color: @highlight; }
QPushButton:focus { border-color: @highlight; }
QToolButton[kind="segment"] { background: @panel; border: 1px solid @line; border-radius: 0; padding: 2px 9px; min-height: 16px; margin: 0; }
QToolButton[kind="segment"]:hover { background: @alternateRow; }
QToolButton[kind="segment"]:checked { background: @highlight; border-color: @highlight; color: white; font-weight: bold; }
QToolButton[kind="glyph"] { border: 1px solid transparent; border-radius: 3px; padding: 2px; }
QToolButton[kind="glyph"]:hover { background: @line; }
QStatusBar { background: @window; border-top: 1px solid @line; color: @ink2; }
QStatusBar::item { border: 0; }
QDockWidget { color: @ink; }
QDockWidget::title { background: @dockTitle; border: 1px solid @line; padding: 4px 8px; text-align: left; }
QTabBar::tab { background: @window; color: @ink2; border: 1px solid @line; padding: 4px 10px; }
QTabBar::tab:selected { background: @panel; color: @ink; }
QTabBar::tab:hover { background: @dockTitle; }
QPushButton { background: @button; border: 1px solid @line; border-radius: 3px; padding: 3px 12px; min-height: 18px; }
QPushButton:hover { background: @alternateRow; }
QPushButton:pressed { background: @line; }
QPushButton:disabled { color: @evicted; background: @window; }
QPushButton:checked { background: @highlightBackground; border-color: @highlight; }
QPushButton:default, QPushButton[kind="primary"] { background: @highlight; border-color: @highlight; color: white; font-weight: bold; }
QPushButton:default:disabled, QPushButton[kind="primary"]:disabled { background: @line; border-color: @line; color: @ink3; }
QPushButton[kind="danger"] { color: @bad; border-color: @bad; font-weight: bold; }
QPushButton[kind="danger"]:disabled { color: @evicted; border-color: @line; }
QLineEdit, QPlainTextEdit, QTextEdit { background: @panel; border: 1px solid @line; border-radius: 3px; padding: 2px 4px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus { border: 1px solid @highlight; }
QHeaderView { background: @dockTitle; }
QTableView::item { padding: 0 5px; }
QHeaderView::section { background: @dockTitle; color: @ink2; border: 0; border-bottom: 1px solid @line; padding: 3px 6px; }
QTableView, QListView, QTreeView { background: @panel; alternate-background-color: @alternateRow; border: 0; gridline-color: @grid; selection-background-color: @highlightBackground; selection-color: @ink; }
QToolTip { background: @panel; color: @ink; border: 1px solid @ink3; padding: 4px; }
)";

QString sheetOf(const Theme& theme)
{
    QString sheet = QString::fromLatin1(kSheet);
    // Longer names first, so that @highlightBackground is not read as @highlight.
    const std::initializer_list<std::pair<const char*, QColor>> tokens = {
        {"@highlightBackground", theme.highlightBackground},
        {"@highlight", theme.highlight},
        {"@alternateRow", theme.alternateRow},
        {"@dockTitle", theme.dockTitle},
        {"@window", theme.window},
        {"@panel", theme.panel},
        {"@button", theme.isDark ? theme.dockTitle : theme.panel},
        {"@evicted", theme.evicted},
        {"@line", theme.line},
        {"@grid", theme.grid},
        {"@ink2", theme.ink2},
        {"@ink3", theme.ink3},
        {"@ink", theme.ink},
        {"@bad", theme.bad},
    };
    for (const auto& [name, color] : tokens)
        sheet.replace(QLatin1String(name), color.name());
    return sheet;
}

bool isDarkPalette(const QPalette& palette)
{
    return palette.color(QPalette::Window).lightness() < 128;
}

/// Applies the System choice again when the desktop's theme changes. With an application palette
/// set, Qt sends no palette event then, only QEvent::ThemeChange to each window.
class ThemeFollower : public QObject
{
public:
    explicit ThemeFollower(QApplication& application)
        : QObject(&application)
    {
        application.installEventFilter(this);
    }

    ThemeChoice choice = ThemeChoice::System;

    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::ThemeChange && watched->isWindowType() &&
            choice == ThemeChoice::System)
            applyTheme(*qApp, choice);
        return false;
    }
};

ThemeFollower& followerOf(QApplication& application)
{
    const QString name = QStringLiteral("kvscopeThemeFollower");
    for (QObject* child : application.children())
        if (child->objectName() == name)
            return *static_cast<ThemeFollower*>(child);
    auto* follower = new ThemeFollower(application);
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    follower->setObjectName(name);
    return *follower;
}

} // namespace

void applyTheme(QApplication& application, ThemeChoice choice)
{
    followerOf(application).choice = choice;
    const Theme* theme = choice == ThemeChoice::Dark ? &Theme::dark() : &Theme::light();
    if (choice == ThemeChoice::System) {
        QApplication::setPalette(QPalette()); // gives the desktop's own palette back
        theme = isDarkPalette(QApplication::palette()) ? &Theme::dark() : &Theme::light();
    }
    QApplication::setPalette(paletteOf(*theme));
    application.setStyleSheet(sheetOf(*theme));
}

} // namespace kvscope

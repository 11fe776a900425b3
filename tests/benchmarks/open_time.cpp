// How long the window takes from the process's start to its first picture, and to one that shows a
// loaded model. Usage: open_time MODEL [SECONDS]. Prints both; exits 1 where the model takes longer
// than SECONDS (default 1), 2 for wrong usage. Run it twice: the first run reads the files.
#include "app/main_window.h"
#include "app/thread_environment.h"
#include "engine/base/heap.h"
#include "tests/benchmarks/benchmark_settings.h"

#include <QApplication>
#include <QEvent>
#include <QTemporaryDir>
#include <QTimer>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <time.h>
#include <unistd.h>

namespace {

/// Seconds since the process was started, dynamic linking included; to a hundredth.
double secondsSinceStart()
{
    std::ifstream stat("/proc/self/stat");
    std::string field;
    std::getline(stat, field, ')'); // the name may hold spaces
    constexpr int kStartTime = 20;  // field 22, counted from behind the name
    for (int i = 0; i < kStartTime; ++i)
        stat >> field;
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const double started = std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 - started;
}

/// Notes when the window has been painted for the first time.
class FirstPaint : public QObject
{
public:
    double seconds = 0.0; ///< since the process began; 0: not yet

protected:
    bool eventFilter(QObject* /*watched*/, QEvent* event) override
    {
        if (event->type() == QEvent::Paint && seconds == 0.0)
            QTimer::singleShot(0, this, [this] { seconds = secondsSinceStart(); });
        return false;
    }
};

} // namespace

int main(int argc, char** argv)
{
    char* rest = nullptr;
    const double limit = argc == 3 ? std::strtod(argv[2], &rest) : 1.0;
    if (argc < 2 || argc > 3 || (rest != nullptr && *rest != '\0')) {
        std::fprintf(stderr, "usage: open_time MODEL [SECONDS]\n");
        return 2;
    }
    kvscope::settleThreadEnvironment(argv); // as the program itself does
    kvscope::keepFreedMemory();
    QApplication application(argc, argv);
    QTemporaryDir home;
    kvscope::useBenchmarkSettings(application, home);
    kvscope::MainWindow window({});
    FirstPaint firstPaint;
    window.installEventFilter(&firstPaint);
    window.resize(1440, 900);
    window.show();
    bool isOpen = false;
    QObject::connect(&window.engine(), &kvscope::EngineBridge::modelOpened, &application,
                     [&] { isOpen = true; });
    // The panels show a model by the first snapshot of it.
    QObject::connect(&window.engine(), &kvscope::EngineBridge::snapshotArrived, &application, [&] {
        if (!isOpen)
            return;
        isOpen = false;
        QTimer::singleShot(0, &application, [&] { // behind the other receivers' redrawing
            window.repaint();
            const double loaded = secondsSinceStart();
            std::printf("window shown after %.2f s, with its model after %.2f s (limit %.2f s)\n",
                        firstPaint.seconds, loaded, limit);
            QCoreApplication::exit(loaded <= limit ? 0 : 1);
        });
    });
    QObject::connect(&window.engine(), &kvscope::EngineBridge::commandFailed,
                     [](const kvscope::CommandFailed& failure) {
                         std::fprintf(stderr, "%s\n", failure.message.c_str());
                         QCoreApplication::exit(1);
                     });
    QTimer::singleShot(60000, &application, [] {
        std::fprintf(stderr, "no model was shown within a minute\n");
        QCoreApplication::exit(1);
    });
    window.openModel(QString::fromLocal8Bit(argv[1]));
    return QApplication::exec();
}

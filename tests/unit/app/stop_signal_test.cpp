// SPDX-License-Identifier: BSD-3-Clause
#include "app/stop_signal.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace lw {
namespace stop_signal_test {

/// Runs `child` in a process of its own. Returns its wait status.
template <class Child>
int status_of(Child child) {
  const pid_t process = fork();
  if (process == 0) {
    child();
    _exit(0);
  }
  int status = 0;
  waitpid(process, &status, 0);
  return status;
}

[[noreturn]] void wait_for_ever() {
  for (;;) pause();
}

TEST(StopSignal, TheFirstAsksAndTheSecondForces) {
  EXPECT_EQ(status_of([] {
              const StopSignal stop;
              if (stop.requested()) _exit(1);
              std::raise(SIGTERM);
              if (!stop.requested() || stop.forced()) _exit(2);
              std::raise(SIGINT);
              if (!stop.forced()) _exit(3);
            }),
            0);
}

TEST(StopSignal, TheEndOfTheTerminalAsksAndNeverForces) {
  EXPECT_EQ(status_of([] {
              std::signal(SIGHUP, SIG_DFL);  // nohup ignores it
              const StopSignal stop;
              std::raise(SIGHUP);
              std::raise(SIGHUP);
              if (!stop.requested() || stop.forced()) _exit(1);
            }),
            0);
}

TEST(StopSignal, AProcessThatOutlivesItsTerminalIsNotAsked) {
  EXPECT_EQ(status_of([] {
              std::signal(SIGHUP, SIG_IGN);
              const StopSignal stop;
              std::raise(SIGHUP);
              if (stop.requested()) _exit(1);
            }),
            0);
}

TEST(StopSignal, TheSecondEndsAProcessThatDoesNotEnd) {
  const int status = status_of([] {
    const StopSignal stop;
    std::raise(SIGTERM);
    std::raise(SIGTERM);
    wait_for_ever();
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(StopSignal, TheThirdEndsItAtOnce) {
  const int status = status_of([] {
    const StopSignal stop;
    for (const int signal : {SIGTERM, SIGTERM, SIGINT}) std::raise(signal);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(StopSignal, WhereASecondOneEndsTheProcessItDoesSoAtOnce) {
  const int status = status_of([] {
    stop_on_signals();
    std::raise(SIGTERM);
    std::raise(SIGINT);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

}  // namespace stop_signal_test
}  // namespace lw

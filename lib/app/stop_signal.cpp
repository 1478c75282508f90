// SPDX-License-Identifier: BSD-3-Clause
#include "app/stop_signal.h"

#include <csignal>

#include "report/live_view.h"

namespace lw {
namespace {

std::atomic<bool> received_once{false};
std::atomic<bool> received_twice{false};
static_assert(std::atomic<bool>::is_always_lock_free, "required in a signal handler");

extern "C" void note_signal(int) {
  if (received_once.exchange(true)) received_twice = true;
}

extern "C" void note_signal_or_end(int signal) {
  if (!received_once.exchange(true)) return;
  report::restore_terminal();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal(Second second) {
  handle(second == Second::ends_process ? note_signal_or_end : note_signal);
}

StopSignal::~StopSignal() { handle(SIG_DFL); }

const std::atomic<bool>& StopSignal::requested() const noexcept { return received_once; }
bool StopSignal::forced() const noexcept { return received_twice.load(); }

const std::atomic<bool>& stop_on_signals() {
  static const StopSignal stop(StopSignal::Second::ends_process);
  return stop.requested();
}

}  // namespace lw

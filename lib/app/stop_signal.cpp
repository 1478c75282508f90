// SPDX-License-Identifier: BSD-3-Clause
#include "app/stop_signal.h"

#include <csignal>
#include <sys/time.h>

#include "core/last_steps.h"
#include "report/live_view.h"

namespace lw {
namespace {

std::atomic<bool> received_once{false};
std::atomic<bool> received_twice{false};
static_assert(std::atomic<bool>::is_always_lock_free, "required in a signal handler");

/// Ends the process as this signal does without a handler.
void end_process(int signal) {
  report::restore_terminal();
  take_last_steps();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Sends SIGALRM after this time; 0: never. A signal handler may call it: it is one system call.
void end_after(std::chrono::seconds time) noexcept {
  itimerval timer{};
  timer.it_value.tv_sec = time.count();
  setitimer(ITIMER_REAL, &timer, nullptr);
}

extern "C" void force_or_end(int signal) {
  if (!received_once.exchange(true)) return;
  if (received_twice.exchange(true)) return end_process(signal);
  end_after(StopSignal::kForcedEnd);
}

extern "C" void note_or_end(int signal) {
  if (received_once.exchange(true)) end_process(signal);
}

extern "C" void note(int) { received_once.store(true); }

extern "C" void end_forced(int) { end_process(SIGTERM); }

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

/// True if the process was started so that the end of its terminal does not end it, as by nohup(1).
bool ignores_hangup() {
  struct sigaction action = {};
  return sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignal::StopSignal(Second second) : hangup_ends_(!ignores_hangup()) {
  if (hangup_ends_) handle(SIGHUP, note);
  handle(SIGALRM, end_forced);
  for (const int signal : {SIGINT, SIGTERM})
    handle(signal, second == Second::ends_process ? note_or_end : force_or_end);
}

StopSignal::~StopSignal() {
  end_after(std::chrono::seconds(0));
  for (const int signal : {SIGINT, SIGTERM, SIGALRM}) handle(signal, SIG_DFL);
  if (hangup_ends_) handle(SIGHUP, SIG_DFL);
}

const std::atomic<bool>& StopSignal::requested() const noexcept { return received_once; }
bool StopSignal::forced() const noexcept { return received_twice.load(); }

const std::atomic<bool>& stop_on_signals() {
  static const StopSignal stop(StopSignal::Second::ends_process);
  return stop.requested();
}

}  // namespace lw

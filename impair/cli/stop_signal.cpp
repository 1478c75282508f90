// SPDX-License-Identifier: BSD-3-Clause
#include "impair/cli/stop_signal.h"

#include <csignal>

namespace lw::impair {
namespace {

std::atomic<bool> asked_once{false};
std::atomic<bool> asked_twice{false};

extern "C" void note_signal(int) {
  if (asked_once.exchange(true)) asked_twice = true;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  handle(SIGINT, note_signal);
  handle(SIGTERM, note_signal);
}

StopSignal::~StopSignal() {
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
}

const std::atomic<bool>& StopSignal::asked() const noexcept { return asked_once; }
bool StopSignal::insisted() const noexcept { return asked_twice.load(); }

}  // namespace lw::impair

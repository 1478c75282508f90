// SPDX-License-Identifier: BSD-3-Clause
#include "nic/stamp_clock.h"

#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <sys/timex.h>

#include <fmt/format.h>
#include <rte_ethdev.h>

#include "nic/clock.h"
#include "nic/port.h"

namespace lw::nic {
namespace {

std::int64_t ns_of(const timespec& t) noexcept {
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::string tai_name() {
  ntptimeval time{};
  if (ntp_gettime(&time) < 0 || time.tai == 0)
    return "CLOCK_TAI (the kernel's TAI offset is not set: it equals UTC)";
  return fmt::format("CLOCK_TAI ({} s ahead of UTC)", time.tai);
}

/// Returns the clockid_t of a Linux interface's PTP clock; -1 if it has none. The descriptor stays
/// open until the process ends.
int open_interface_clock(const std::string& interface) {
  std::error_code ignored;
  const std::filesystem::path folder = "/sys/class/net/" + interface + "/device/ptp";
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const int file =
        ::open(("/dev/" + entry.path().filename().string()).c_str(), O_RDONLY | O_CLOEXEC);
    constexpr unsigned kDynamic = 3;  // clock_getres(2): a clock of a file descriptor
    if (file >= 0) return static_cast<int>(~static_cast<unsigned>(file) << 3 | kDynamic);
  }
  return -1;
}

}  // namespace

Parsed<ClockKind> parse_clock(std::string_view text) {
  if (text == "steady") return ClockKind::steady;
  if (text == "tai") return ClockKind::tai;
  if (text == "ptp") return ClockKind::ptp;
  return std::unexpected(
      fmt::format("expected steady, tai or ptp, found \"{}\"", std::string(text)));
}

StampClock::StampClock() {
  const std::string boot = boot_id();
  id_ = steady_clock_number(kSteady, boot);
  name_ = fmt::format("CLOCK_MONOTONIC (boot {})", boot.substr(0, 8));
}

Result<StampClock> StampClock::open(ClockKind kind, const Port* port) {
  StampClock clock;
  clock.kind_ = kind;
  if (kind == ClockKind::steady) return clock;
  if (kind == ClockKind::tai) {
    clock.id_ = kTai;
    clock.clock_ = CLOCK_TAI;
    clock.name_ = tai_name();
    return clock;
  }
  if (port == nullptr) return fail("--clock ptp: a port is needed, whose clock is read");
  clock.id_ = kPtp;
  clock.name_ = fmt::format("the PTP hardware clock of {}", port->name());
  const auto spec = parse_port_spec(port->name());
  const auto* interface = spec ? spec->as<InterfaceSpec>() : nullptr;
  if (interface != nullptr) {
    clock.clock_ = open_interface_clock(interface->interface);
    if (clock.clock_ != -1) return clock;
  } else if (const auto device = port->device()) {
    clock.device_ = *device;
    clock.through_dpdk_ = true;
    timespec now{};
    if (rte_eth_timesync_enable(clock.device_) == 0 &&
        rte_eth_timesync_read_time(clock.device_, &now) == 0)
      return clock;
  }
  return fail(fmt::format("port `{}`: no PTP hardware clock; --clock tai uses the system's clock, "
                          "which ptp4l and phc2sys set",
                          port->name()),
              ExitCode::environment);
}

void StampClock::follow(Duration ahead, std::uint8_t id, const std::string& name) {
  ahead_ = ahead;
  id_ = id;
  name_ = name;
}

Duration StampClock::offset() const noexcept {
  if (kind_ == ClockKind::steady) return ahead_;
  std::int64_t offset = 0, shortest = std::numeric_limits<std::int64_t>::max();
  constexpr int kReadings = 3;  // the reading that took the shortest time is the most exact
  for (int i = 0; i < kReadings; ++i) {
    timespec time{};
    const std::int64_t before = to_ns(now());
    if (through_dpdk_) {
      rte_eth_timesync_read_time(device_, &time);
    } else {
      clock_gettime(clock_, &time);
    }
    const std::int64_t took = to_ns(now()) - before;
    if (took >= shortest) continue;
    shortest = took;
    offset = ns_of(time) - before - took / 2;
  }
  return Duration{offset};
}

}  // namespace lw::nic

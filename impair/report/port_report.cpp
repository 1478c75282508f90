// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/port_report.h"

namespace lw::impair {
namespace {

PortReport report_of(std::string_view side, const nic::Port& port) {
  const nic::PortStats stats = port.stats();
  return {std::string(side),
          port.name(),
          stats.received,
          stats.sent,
          stats.missed,
          stats.no_buffer,
          stats.receive_errors + stats.send_errors};
}

}  // namespace

std::vector<PortReport> port_reports(const Equipment& equipment) {
  return {report_of("west", equipment.west), report_of("east", equipment.east)};
}

}  // namespace lw::impair

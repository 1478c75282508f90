// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/fault.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/flow/profile.h"
#include "config/toml/table.h"

namespace lw::config {
namespace {

constexpr Choice<FaultKind> kKinds[] = {
    {"bad_icrc", FaultKind::bad_icrc},
    {"wrong_pad_count", FaultKind::wrong_pad_count},
    {"wrong_tver", FaultKind::wrong_tver},
    {"bad_p_key", FaultKind::bad_p_key},
    {"wrong_udp_length", FaultKind::wrong_udp_length},
    {"truncated_bth", FaultKind::truncated_bth},
    {"psn_gap", FaultKind::psn_gap},
    {"duplicate_psn", FaultKind::duplicate_psn},
    {"first_after_first", FaultKind::first_after_first},
    {"middle_without_first", FaultKind::middle_without_first},
    {"short_middle", FaultKind::short_middle},
};
static_assert(std::size(kKinds) == kFaultKinds);

/// Why no frame of the flow can have the fault; empty if some can.
std::string_view obstacle(FaultKind kind, const Flow& flow) {
  const roce::MessageFields& message = flow.message;
  switch (kind) {
    case FaultKind::wrong_udp_length:
      return flow.frame.encapsulation == wire::Encapsulation::grh ? "RoCEv1 has no UDP" : "";
    case FaultKind::psn_gap:
    case FaultKind::duplicate_psn:
      return message.operation == wire::Operation::cnp ? "a CNP has no PSN sequence" : "";
    case FaultKind::first_after_first:
      return packet_count(message) < 2 ? "its messages have one packet" : "";
    case FaultKind::middle_without_first:
      return wire::opcode_of(message.transport, message.operation, wire::Position::middle, false,
                             false)
                 ? ""
                 : "it has no MIDDLE";
    case FaultKind::short_middle:
      return packet_count(message) < 3 ? "its messages have no MIDDLE" : "";
    default:
      return "";
  }
}

Fault read_fault(const Table& table, const Flow& flow) {
  Fault fault;
  const auto kind = table.require("kind", choice(kKinds), "a kind of fault");
  fault.kind = kind.value_or(FaultKind::bad_icrc);
  fault.rate = table.get_or("rate", parse_probability, 0);
  fault.frames = table.get_or("frames", some_of(integer<std::uint64_t>()), {});
  std::ranges::sort(fault.frames);
  if (table.has("rate") == table.has("frames")) {
    table.refuse("expected either a rate such as \"0.1%\", or frames = [3, 17]");
  }
  const std::string_view why = kind ? obstacle(fault.kind, flow) : "";
  if (!why.empty()) {
    table.refuse("kind", fmt::format("expected a fault that the flow's frames can have: {}", why));
  }
  table.finish();
  return fault;
}

}  // namespace

std::string_view name_of(FaultKind kind) noexcept {
  return kKinds[static_cast<std::size_t>(kind)].name;
}

void read_faults(const Table& table, Flow& flow) {
  auto faults = std::make_shared<std::vector<Fault>>();
  for (const Table& fault : table.tables("fault")) faults->push_back(read_fault(fault, flow));
  if (!faults->empty()) flow.faults = std::move(faults);
}

}  // namespace lw::config

// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/setup_words.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "dissect/sessions/capture_analysis.h"

namespace lw::dissect {
namespace {

constexpr std::pair<std::uint16_t, std::string_view> kRejects[] = {
    {1, "the other end has no QP left"},
    {3, "the other end lacks resources"},
    {4, "its sender waited too long for the other end"},
    {6, "the other end does not know this connection"},
    {7, "the other end does not know this connection"},
    {8, "nobody listens there"},
    {9, "the other end does not offer this transport"},
    {10, "the other end believes that the QP is still in use, as an old connection was not ended"},
    {12, "the address of the REQ is not that of the other end's port"},
    {24, "another port or manager is to be asked"},
    {25, "another port is to be asked"},
    {26, "the other end cannot take packets of this MTU"},
    {27, "the other end cannot take as many READs and atomics at once"},
    {28, "the application refused it"},
    {29, "the other end does not accept this number of retries"},
    {30, "the requester uses this communication ID for another connection"},
    {32, "the other end does not accept the flow label"},
};

constexpr std::pair<std::uint8_t, std::string_view> kStatuses[] = {
    {1, "nobody serves it there"},
    {2, "the application refused it"},
    {3, "the other end has no QP left"},
    {4, "another port is to be asked"},
};

template <class Code>
std::string_view meaning_of(std::span<const std::pair<Code, std::string_view>> table, Code code) {
  const auto known = std::ranges::find(table, code, &std::pair<Code, std::string_view>::first);
  return known == table.end() ? std::string_view{} : known->second;
}

using analysis::ConnectionSetup;
using Step = ConnectionSetup::Step;

/// "REJ by 10.0.0.2, reason 8, Invalid Service ID (frame 7)".
std::string end_text(const ConnectionSetup& setup) {
  using analysis::SetupEnd;
  switch (setup.end()) {
    case SetupEnd::before:
      return "set up before the capture began";
    case SetupEnd::open:
      return "the capture ends before an answer was due";
    case SetupEnd::unanswered:
      return fmt::format("{} REQs, never answered", setup.requests().count);
    case SetupEnd::rejected:
      return fmt::format("refused with {} (frame {})", reject_text(setup),
                         setup.of_service
                             ? setup.of(ConnectionSetup::kReplier, Step::rep).first_frame
                             : setup.rejects().first_frame);
    case SetupEnd::unconfirmed:
      return "accepted, and never confirmed (RTU)";
    case SetupEnd::done:
      break;
  }
  const auto duration = setup.duration();
  return duration ? fmt::format("came up in {}", format_duration(*duration)) : "came up";
}

/// "; 10.0.0.1 disconnected it (frame 90)"; empty: nobody did.
std::string ended_by_text(const ConnectionSetup& setup) {
  const auto side = setup.disconnected_by();
  if (!side) return {};
  return fmt::format(
      "; {} disconnected it (frame {}){}",
      address_text(*side == ConnectionSetup::kRequester ? setup.requester : setup.replier),
      setup.of(*side, Step::dreq).first_frame,
      setup.is_disconnect_unanswered() ? ", and was not answered" : "");
}

}  // namespace

std::string_view reject_meaning(std::uint16_t reason) noexcept {
  return meaning_of<std::uint16_t>(kRejects, reason);
}

std::string_view sidr_meaning(std::uint8_t status) noexcept {
  return meaning_of<std::uint8_t>(kStatuses, status);
}

std::string service_text(std::uint64_t service_id) {
  // IBTA vol. 1, annex A11: 0x00000001, protocol, port.
  constexpr std::uint64_t kTcp = 6, kUdp = 17;
  const std::string id = fmt::format("service {:#x}", service_id);
  if (service_id >> 24 != 1) return id;
  const std::uint64_t protocol = service_id >> 16 & 0xff, port = service_id & 0xffff;
  const std::string_view name = protocol == kTcp   ? "TCP port"
                                : protocol == kUdp ? "UDP port"
                                                   : "port";
  return fmt::format("{} (RDMA CM, {} {})", id, name, port);
}

std::string agreement_text(const analysis::ConnectionSetup& setup) {
  if (!setup.request || setup.of_service) return {};
  constexpr std::string_view kTransports[] = {"RC", "UC", "RD", "XRC"};
  const analysis::CmNote& req = *setup.request;
  std::string text(kTransports[req.transport & 3]);
  if (req.mtu_code >= 1 && req.mtu_code <= 5)
    text += fmt::format(", path MTU {}", 128 << req.mtu_code);
  text += fmt::format(", {} retries, {} after RNR NAKs", req.retries, req.rnr_retries);
  if (req.timeout != 0) text += fmt::format(", timeout {}", req.timeout);
  if (setup.reply)
    text += fmt::format(
        ", at most {} at once",
        counted_fetches(std::min(req.initiator_depth, setup.reply->responder_resources)));
  if (req.p_key != wire::kDefaultPKey) text += fmt::format(", P_Key {:#06x}", req.p_key);
  return text;
}

std::string setup_text(const analysis::ConnectionSetup& setup) {
  const std::string agreed = agreement_text(setup);
  return fmt::format("{} asked {} for {}: {}{}{}{}", address_text(setup.requester),
                     address_text(setup.replier),
                     setup.request ? service_text(setup.request->service_id) : "a connection",
                     end_text(setup), agreed.empty() ? "" : "; ", agreed, ended_by_text(setup));
}

}  // namespace lw::dissect

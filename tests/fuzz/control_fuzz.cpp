// SPDX-License-Identifier: BSD-3-Clause
// Any text as what clients send to a run, a request per line and connection: each is answered in
// one line of JSON, and what is refused changes nothing.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "impair/control/control.h"
#include "impair/control/live_profile.h"
#include "impair/report/rule_report.h"
#include "net/request_server.h"

namespace {

using lw::Result;
using lw::impair::LiveProfile;

constexpr std::string_view kProfile =
    "[[rule]]\nname = \"r\"\ndelay = \"1ms\"\nloss = \"1%\"\n"
    "[[at]]\nname = \"a\"\nrule = \"r\"\nset = { loss = 0 }\n"
    "[[flap]]\nname = \"f\"\nport = \"west\"\ndown = \"1s\"\n";

LiveProfile::Version started() { return LiveProfile::parse(kProfile, {"p.toml"}).value(); }

std::string rules_of(const LiveProfile& live) { return lw::impair::rules_text(live.now().profile); }

/// Answers a request as the control socket does.
std::string answer_to(lw::impair::Control& control, std::string_view request) {
  const std::size_t most = lw::net::kMostControlRequest;
  return request.size() > most ? lw::impair::Control::too_long(most) : *control.answer(request);
}

void check(lw::impair::Control& control, const LiveProfile& live, std::string_view request) {
  const std::string before = rules_of(live);
  const std::string answer = answer_to(control, request);
  const auto json = nlohmann::json::parse(answer, nullptr, false);
  if (!json.is_object() || !json.contains("ok") || answer.find('\n') != answer.size() - 1)
    std::abort();
  if (json["ok"].get<bool>()) return;
  if (json["error"].get<std::string>().empty() || rules_of(live) != before) std::abort();
}

Result<void> keep(LiveProfile& live, Result<LiveProfile::Version> next) {
  if (!next) return std::unexpected(next.error());
  live.keep(std::move(*next));
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const LiveProfile::Version kStarted = started();
  LiveProfile live(kStarted);
  lw::impair::Control control(
      {.set = [&](auto edits, const auto&) { return keep(live, live.with(edits)); },
       .load = [](const auto&, const auto&, auto) -> Result<void> {
         return lw::fail("no files here");
       },
       .reset = [&](const auto&) { return keep(live, live.unedited()); },
       .undo = [&](const auto&) { return keep(live, live.back_to(live.point())); },
       .command = [&](const auto& command, const auto&, auto) -> Result<void> {
         const auto steps = live.on_command(command);
         return steps ? Result<void>{} : std::unexpected(steps.error());
       },
       .preview = [&](auto edits) -> lw::Result<lw::impair::Preview> {
         auto next = live.with(edits);
         if (!next) return std::unexpected(next.error());
         return lw::impair::Preview{.profile = std::move(next->profile)};
       },
       .in_force = [&] { return lw::impair::InForce{.profile = live.now().profile}; },
       .snapshot = [] { return lw::impair::Report{}; },
       .records = []() -> lw::Result<std::vector<std::string>> { return lw::fail("no ledger"); },
       .record = [](const auto&, auto) -> lw::Result<void> { return {}; },
       .stop_recording = []() -> lw::Result<lw::impair::CaptureReport> {
         return lw::impair::CaptureReport{.file = "one.pcapng", .frames = 7};
       }});
  std::string_view received(reinterpret_cast<const char*>(data), size);
  while (!received.empty()) {
    const std::size_t length = lw::net::line_length(received).value_or(received.size());
    check(control, live, received.substr(0, length));
    received.remove_prefix(std::min(length + 1, received.size()));
  }
  return 0;
}

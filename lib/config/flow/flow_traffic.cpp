// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <fstream>

#include "config/flow/flow_sections.h"

namespace lw::config {
namespace {

constexpr Choice<Pattern> kPatterns[] = {{"zeros", Pattern::zeros},
                                         {"counter", Pattern::counter},
                                         {"prbs31", Pattern::prbs31},
                                         {"text", Pattern::text},
                                         {"file", Pattern::file}};

constexpr std::uint32_t kLongestBurst = 65535;
constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 40;

using Rounds = std::optional<std::uint64_t>;

Parsed<Rounds> read_repeat(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text != nullptr && *text == "forever") return Rounds{};
  const auto number = read_unsigned(value, 1, kMostMessages);
  if (number) return Rounds{*number};
  return std::unexpected("expected a whole number above 0, or \"forever\", found " +
                         describe(value));
}

constexpr std::string_view kBackToBack = "back_to_back";
constexpr Choice<Arrival> kArrivals[] = {{"constant", Arrival::constant},
                                         {"poisson", Arrival::poisson},
                                         {"on_off", Arrival::on_off},
                                         {kBackToBack, Arrival::constant}};

/// The first bytes of a file: each packet begins anew, so no more than the largest MTU count.
Parsed<std::string> read_file(const std::string& path) {
  constexpr std::size_t kMost = 4096;
  std::string bytes(kMost, 0);
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), kMost);
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.empty()) return std::unexpected("expected a file with bytes, found none at " + path);
  return bytes;
}

Payload read_payload(const Table& table, const FlowContext& context) {
  Payload payload;
  payload.pattern = table.get_or("payload", choice(kPatterns), Pattern::counter);
  const std::string text = table.get_or("payload_text", read_text, "longwire ");
  const auto contents = table.get("payload_file", [&](const Value& value) -> Parsed<std::string> {
    const auto name = read_text(value);
    if (!name) return name;
    return read_file(beside(context.profile, *name));
  });
  if (payload.pattern == Pattern::text) payload.text = text;
  if (payload.pattern == Pattern::file) payload.text = contents.value_or(" ");
  if (payload.pattern == Pattern::file && !table.has("payload_file")) {
    table.refuse("payload", "expected a payload_file beside it, found none");
  }
  return payload;
}

Parsed<std::uint32_t> read_burst(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text != nullptr && *text == "message") return Flow::kWholeMessage;
  const auto frames = integer<std::uint32_t>(1, kLongestBurst)(value);
  if (text == nullptr || frames) return frames;
  return std::unexpected("expected a number of frames, or \"message\", found " + describe(value));
}

/// `rate` or `goodput`, or the whole link when it is back to back.
Rate read_rate(const Table& table, const FlowContext& context, bool back_to_back) {
  Rate rate = table.get_or("rate", parse_rate, Rate{});
  const auto goodput = table.get("goodput", parse_bit_rate);
  if (table.has_itself("rate") && table.has_itself("goodput")) {
    table.refuse("goodput", "expected a rate or a goodput, found both");
  }
  if (goodput && !table.has_itself("rate")) rate = {Rate::Unit::goodput, *goodput};
  if (back_to_back) rate = {Rate::Unit::link, 1};
  if (rate.unit != Rate::Unit::link) return rate;
  if (!context.link_bps) {
    table.refuse(back_to_back ? "arrival" : "rate",
                 "expected the link's rate at the profile's top, such as link = \"100Gb/s\", "
                 "found none");
  }
  return {Rate::Unit::wire_bits, rate.value * context.link_bps.value_or(1)};
}

/// Keys that one kind of arrival has no use for.
void check_arrival(const Table& table, bool on_off, bool back_to_back) {
  for (const auto* key : {"on", "off"}) {
    if (!on_off && table.has_itself(key)) {
      table.refuse(key, "expected beside arrival = \"on_off\" alone");
    }
  }
  for (const auto* key : {"rate", "goodput"}) {
    if (back_to_back && table.has_itself(key)) {
      table.refuse(key, "expected none beside arrival = \"back_to_back\": it has all of the link");
    }
  }
}

void read_arrival(const Table& table, const FlowContext& context, Flow& flow) {
  constexpr Duration kPeriod = std::chrono::milliseconds(1);
  flow.arrival = table.get_or("arrival", choice(kArrivals), Arrival::constant);
  const bool on_off = flow.arrival == Arrival::on_off;
  const bool back_to_back = table.get_or("arrival", read_text, "constant") == kBackToBack;
  check_arrival(table, on_off, back_to_back);
  flow.rate = read_rate(table, context, back_to_back);
  flow.burst = table.get_or("burst", read_burst, 1);
  flow.on = table.get_or("on", parse_duration, kPeriod);
  flow.off = table.get_or("off", parse_duration, kPeriod);
  if (flow.on <= Duration{0}) table.refuse("on", "expected a time above 0");
  flow.start_after = table.get_or("start_after", parse_duration, Duration{0});
  flow.stop_after = table.get("stop_after", parse_duration);
  if (flow.stop_after && *flow.stop_after <= flow.start_after) {
    table.refuse("stop_after", "expected a time behind start_after");
  }
}

}  // namespace

void read_traffic(const Table& table, const FlowContext& context, Flow& flow) {
  flow.messages = table.get_or("messages", integer<std::uint64_t>(1, kMostMessages), 1000);
  flow.repeat = table.get_or("repeat", read_repeat, 1);
  read_arrival(table, context, flow);
  flow.payload = read_payload(table, context);
  flow.signature = table.get_or("signature", read_boolean, false);
}

}  // namespace lw::config

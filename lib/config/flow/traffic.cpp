// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/traffic.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "config/flow/profile.h"
#include "config/toml/document.h"
#include "config/toml/table.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/output.h"

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
constexpr Choice<ArrivalProcess> kArrivals[] = {{"constant", ArrivalProcess::constant},
                                                {"poisson", ArrivalProcess::poisson},
                                                {"on_off", ArrivalProcess::on_off},
                                                {kBackToBack, ArrivalProcess::constant}};

/// Reads at most the largest MTU: the payload restarts in every packet.
Parsed<std::string> read_file(const std::string& path) {
  constexpr std::size_t kMost = 4096;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return std::unexpected("expected a file, found none at " + path);
  std::string bytes(kMost, 0);
  note_input(path);
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), kMost);
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.empty()) return std::unexpected("expected a non-empty file, found none at " + path);
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
    table.refuse("payload", "expected a payload_file too, found none");
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

/// Reads `rate` or `goodput`. Back-to-back flows take the whole link.
Rate read_rate(const Table& table, const FlowContext& context, bool back_to_back) {
  Rate rate = table.get_or("rate", parse_rate, Rate{});
  const auto goodput = table.get("goodput", parse_bit_rate);
  if (table.has_own("rate") && table.has_own("goodput")) {
    table.refuse("goodput", "expected either rate or goodput, found both");
  }
  if (goodput && !table.has_own("rate")) rate = {Rate::Unit::goodput, *goodput};
  if (back_to_back) rate = {Rate::Unit::link, 1};
  if (rate.unit != Rate::Unit::link) return rate;
  if (!context.link_bps) {
    table.refuse(back_to_back ? "arrival" : "rate",
                 "expected a link rate at the top of the profile, such as link = \"100Gb/s\", "
                 "found none");
  }
  return {Rate::Unit::wire_bits, rate.value * context.link_bps.value_or(1)};
}

/// Refuses keys that the kind of arrival doesn't use.
void check_arrival(const Table& table, bool on_off, bool back_to_back) {
  for (const auto* key : {"on", "off"}) {
    if (!on_off && table.has_own(key)) {
      table.refuse(key, "expected only with arrival = \"on_off\"");
    }
  }
  for (const auto* key : {"rate", "goodput"}) {
    if (back_to_back && table.has_own(key)) {
      table.refuse(key,
                   "expected no rate with arrival = \"back_to_back\", which uses the whole link");
    }
  }
}

void read_arrival(const Table& table, const FlowContext& context, Flow& flow) {
  constexpr Duration kPeriod = std::chrono::milliseconds(1);
  flow.arrival = table.get_or("arrival", choice(kArrivals), ArrivalProcess::constant);
  const bool on_off = flow.arrival == ArrivalProcess::on_off;
  const bool back_to_back = table.get_or("arrival", read_text, "constant") == kBackToBack;
  check_arrival(table, on_off, back_to_back);
  flow.rate = read_rate(table, context, back_to_back);
  flow.burst = table.get_or("burst", read_burst, 1);
  flow.on = table.get_or("on", parse_duration, kPeriod);
  flow.off = table.get_or("off", parse_duration, kPeriod);
  if (flow.on <= Duration{0}) table.refuse("on", "expected a time above 0, found 0");
  flow.start_after = table.get_or("start_after", parse_duration, Duration{0});
  flow.stop_after = table.get("stop_after", parse_duration);
  if (flow.stop_after && *flow.stop_after <= flow.start_after) {
    table.refuse("stop_after", "expected a time after start_after");
  }
}

/// Factor of a unit's prefix; 0 for an unknown one.
double multiplier(std::string_view prefix) {
  if (prefix.empty()) return 1;
  if (prefix == "k") return 1e3;
  if (prefix == "M") return 1e6;
  return 0;
}

std::unexpected<std::string> refusal(std::string_view text) {
  return std::unexpected(fmt::format(
      "expected a rate above 0 such as \"10Gb/s\" or \"20 kframes/s\", found \"{}\"", text));
}

/// Parses a number and a prefix; `text` must end with `unit`.
Parsed<Rate> read_count(std::string_view text, std::string_view unit, Rate::Unit meaning) {
  const std::string_view body = text.substr(0, text.size() - unit.size());
  double value = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
  if (error != std::errc{}) return refusal(text);
  std::string_view prefix = body.substr(static_cast<std::size_t>(end - body.data()));
  while (prefix.starts_with(' ')) prefix.remove_prefix(1);
  const bool share = meaning == Rate::Unit::link;
  value *= share ? (prefix.empty() ? 0.01 : 0) : multiplier(prefix);
  if (!std::isfinite(value) || value <= 0 || (share && value > 1)) return refusal(text);
  if (value > static_cast<double>(kHighestRate))
    return std::unexpected(fmt::format("expected at most {} {}, found \"{}\"", kHighestRate,
                                       name_of(meaning), excerpt(text)));
  return Rate{meaning, value};
}

}  // namespace

void read_traffic(const Table& table, const FlowContext& context, Flow& flow) {
  flow.messages = table.get_or("messages", integer<std::uint64_t>(1, kMostMessages), 1000);
  flow.repeat = table.get_or("repeat", read_repeat, 1);
  flow.counted = table.has("messages") || table.has("repeat");
  read_arrival(table, context, flow);
  flow.payload = read_payload(table, context);
  flow.signature = table.get_or("signature", read_boolean, false);
}

Parsed<Rate> parse_rate(std::string_view text) {
  constexpr std::pair<std::string_view, Rate::Unit> kUnits[] = {
      {"frames/s", Rate::Unit::frames},
      {"messages/s", Rate::Unit::messages},
      {"%", Rate::Unit::link},
  };
  for (const auto& [unit, meaning] : kUnits) {
    if (text.ends_with(unit)) return read_count(text, unit, meaning);
  }
  const auto bits = parse_bit_rate(text);
  if (!bits) return refusal(text);
  return Rate{Rate::Unit::wire_bits, *bits};
}

std::string_view name_of(Rate::Unit unit) noexcept {
  switch (unit) {
    case Rate::Unit::wire_bits:
      return "b/s on the wire";
    case Rate::Unit::frames:
      return "frames/s";
    case Rate::Unit::goodput:
      return "b/s of payload";
    case Rate::Unit::messages:
      return "messages/s";
    case Rate::Unit::link:
      break;
  }
  return "of the link";
}

}  // namespace lw::config

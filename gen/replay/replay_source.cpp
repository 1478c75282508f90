// SPDX-License-Identifier: BSD-3-Clause
#include "gen/replay/replay_source.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/output.h"
#include "roce/class_rewrite.h"
namespace lw::gen {
namespace {

constexpr std::uint32_t kLargestQp = 0xffffff;

/// Parses the whole text as a number, hexadecimal after 0x.
std::optional<std::uint32_t> number_of(std::string_view text, std::uint32_t largest) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && value <= largest ? std::optional(value) : std::nullopt;
}

}  // namespace

Parsed<Speed> parse_speed(std::string_view text) {
  if (text == "max") return Speed{std::numeric_limits<double>::infinity()};
  const std::string_view number = text.ends_with('x') ? text.substr(0, text.size() - 1) : text;
  double factor = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), factor);
  const bool whole = error == std::errc{} && end == number.data() + number.size();
  if (!whole || !std::isfinite(factor) || factor <= 0) {
    return std::unexpected(fmt::format(
        "expected a multiple of the capture's pace such as 2x or 0.5x, or max, found \"{}\"",
        text));
  }
  return Speed{factor};
}

Parsed<Mapping> parse_mapping(std::string_view text, std::uint32_t largest) {
  const std::size_t sign = text.find('=');
  if (sign != text.npos) {
    const auto from = number_of(text.substr(0, sign), largest);
    const auto to = number_of(text.substr(sign + 1), largest);
    if (from && to) return Mapping{*from, *to};
  }
  return std::unexpected(
      fmt::format("expected OLD=NEW, two numbers up to {:#x}, found \"{}\"", largest, text));
}

Parsed<roce::AddressChange> parse_address_change(std::string_view text) {
  const std::size_t sign = text.find('=');
  const auto to = wire::parse_ip(sign == text.npos ? text : text.substr(sign + 1));
  roce::AddressChange change;
  if (to && sign == text.npos) return roce::AddressChange{std::nullopt, *to};
  const auto from = to ? wire::parse_ip(text.substr(0, sign)) : std::nullopt;
  if (from && from->index() == to->index()) return roce::AddressChange{from, *to};
  return std::unexpected(
      fmt::format("expected OLD=NEW, two IPv4 or two IPv6 addresses such as "
                  "192.0.2.1=203.0.113.1, or one new address for all frames, found \"{}\"",
                  text));
}

Parsed<PsnOffset> parse_psn_offset(std::string_view text) {
  PsnOffset result;
  std::string_view number = text;
  if (const std::size_t sign = text.find('='); sign != text.npos) {
    result.qp = number_of(text.substr(0, sign), kLargestQp);
    number = text.substr(sign + 1);
  }
  const bool negative = number.starts_with('-');
  const auto offset = number_of(number.substr(negative ? 1 : 0), wire::Psn::kMask);
  if (!offset || (number.size() != text.size() && !result.qp)) {
    return std::unexpected(fmt::format(
        "expected a number of packets such as 100 or -5, or QP=NUMBER, each of 24 bits, found "
        "\"{}\"",
        text));
  }
  result.offset = (negative ? wire::Psn{} - *offset : wire::Psn{*offset}).value();
  return result;
}

namespace {

Duration scaled(Duration time, double factor) noexcept {
  constexpr Duration kLongest = Duration::max() / 4;              // 73 years: sums don't overflow
  if (factor == 1) return std::clamp(time, -kLongest, kLongest);  // to the nanosecond
  const long double ns =
      std::floor(static_cast<long double>(time.count()) / static_cast<long double>(factor));
  const auto most = static_cast<long double>(kLongest.count());
  return Duration{static_cast<std::int64_t>(std::clamp(ns, -most, most))};
}

const roce::AddressChange* change_of_all(const std::vector<roce::AddressChange>& changes) {
  const auto found = std::ranges::find_if(
      changes, [](const roce::AddressChange& change) { return !change.from.has_value(); });
  return found == changes.end() ? nullptr : &*found;
}

/// Returns the IP addresses of a RoCEv2 frame, or those in the GRH of a RoCEv1 frame; nothing for
/// other frames.
std::optional<std::pair<wire::IpAddress, wire::IpAddress>> addresses_of(wire::Bytes frame) {
  const roce::Envelope envelope = roce::open_envelope(frame);
  if (!envelope.is_roce()) return std::nullopt;
  if (envelope.ipv4) return std::pair{envelope.ipv4->source, envelope.ipv4->destination};
  const wire::Ipv6* ip = envelope.ipv6 ? envelope.ipv6 : envelope.grh;
  return std::pair{ip->source, ip->destination};
}

/// Reads the whole file for the check.
Result<void> check_directions(const ReplayOptions& options) {
  DirectionCheck check(options.rewrite);
  if (!check.needed() || options.capture == "-") return {};
  auto reader = capture::Reader::open(options.capture);
  if (!reader) return std::unexpected(reader.error());
  while (!options.limits.stopped()) {
    const auto record = reader->next();
    if (!record) return std::unexpected(record.error());
    if (!*record) break;
    if (auto checked = check.add((*record)->bytes); !checked) return checked;
  }
  return {};
}

}  // namespace

DirectionCheck::DirectionCheck(const roce::FrameChanges& rewrite) {
  const auto* source = change_of_all(rewrite.sources);
  const auto* change = source != nullptr ? source : change_of_all(rewrite.destinations);
  if (change == nullptr) return;
  change_ = fmt::format("--{} {}", source != nullptr ? "source" : "destination",
                        wire::to_string(change->to));
  family_ = change->to.index();
}

Result<void> DirectionCheck::add(wire::Bytes frame) {
  if (!needed()) return {};
  const auto pair = addresses_of(frame);
  if (!pair || pair->first.index() != family_) return {};
  if (!seen_.contains({pair->second, pair->first}) || pair->first == pair->second) {
    seen_.insert(*pair);
    return {};
  }
  const std::string from = wire::to_string(pair->second), back = wire::to_string(pair->first);
  return fail(fmt::format(
      "{}: frames go from {} to {} and back, so both hosts would get one address; name the old "
      "ones: --source {}=NEW --source {}=NEW2 --destination {}=NEW --destination {}=NEW2",
      change_, from, back, from, back, from, back));
}

Result<ReplaySource> ReplaySource::open(const ReplayOptions& options, std::size_t longest) {
  if (options.capture == "-" && options.loop != 1) {
    return fail("standard input can be read once: --loop needs a file");
  }
  if (auto checked = check_directions(options); !checked) return std::unexpected(checked.error());
  auto reader = capture::Reader::open(options.capture);
  if (!reader) return std::unexpected(reader.error());
  return ReplaySource(options, std::move(*reader), longest);
}

ReplaySource::ReplaySource(const ReplayOptions& options, capture::Reader reader,
                           std::size_t longest)
    : options_(&options),
      reader_(std::move(reader)),
      longest_(longest),
      most_(longest),
      directions_(options.rewrite) {
  if (const auto* rate = std::get_if<config::Rate>(&options.pace)) pacer_.emplace(*rate, 1);
}

bool ReplaySource::paced() const noexcept {
  const auto* speed = std::get_if<Speed>(&options_->pace);
  return speed == nullptr || std::isfinite(speed->factor);
}

/// Opens the capture again for the next pass. Returns false after the last pass, or after a pass in
/// which no frame was sent, because the replay would never end.
Result<bool> ReplaySource::begin_pass() {
  if (pass_ == options_->loop || sent_in_pass_ == 0) return false;
  auto again = capture::Reader::open(options_->capture);
  if (!again) return std::unexpected(again.error());
  reader_ = std::move(*again);
  ++pass_;
  // The gap between passes is the mean gap between frames.
  const Duration length = latest_ - pass_start_;
  const auto gaps = static_cast<std::int64_t>(std::max<std::uint64_t>(sent_in_pass_ - 1, 1));
  pass_start_ = latest_ + length / gaps;
  sent_in_pass_ = 0;
  return true;
}

Result<std::optional<ReplayFrame>> ReplaySource::next() {
  while (true) {
    const auto record = reader_.next();
    if (!record && counters_.read == 0) return std::unexpected(record.error());
    if (!record) {
      report_at_end(std::unexpected(record.error()));
      return std::nullopt;
    }
    if (!*record) {
      const auto more = begin_pass();
      if (!more) return std::unexpected(more.error());
      if (!*more) return std::nullopt;
      continue;
    }
    const auto wanted = keep(**record);
    if (!wanted) return std::unexpected(wanted.error());
    if (*wanted) return ReplayFrame{frame_, due_of((*record)->stamp, frame_.size())};
  }
}

Result<bool> ReplaySource::keep(const capture::Record& record) {
  const int link = reader_.interfaces().at(record.interface).link_type;
  if (link != capture::kLinkTypeEthernet) {
    return fail(
        fmt::format("{}: offset {}: expected an Ethernet frame (link type 1), found link "
                    "type {}: without MAC addresses it can't be sent",
                    options_->capture, record.offset, link));
  }
  ++counters_.read;
  // A file was already checked when it was opened.
  if (options_->capture == "-") {
    if (auto checked = directions_.add(record.bytes); !checked)
      return std::unexpected(checked.error());
  }
  return prepare(record);
}

/// Copies and rewrites the frame. Returns false if it isn't sent.
bool ReplaySource::prepare(const capture::Record& record) {
  if (record.bytes.size() < record.wire_length || record.bytes.size() < sizeof(wire::Ethernet)) {
    ++counters_.cut;
    return false;
  }
  // Linux permits one tag in addition to the MTU.
  const auto* ethernet = wire::view<wire::Ethernet>(record.bytes);
  const bool tagged = ethernet->type.get() == wire::kEtherTypeVlan;
  const std::size_t tag = tagged ? sizeof(wire::Vlan) : 0;
  const std::size_t added = !tagged && options_->traffic.vlan ? sizeof(wire::Vlan) : 0;
  if (record.bytes.size() > std::min(longest_ + tag, most_ - added)) {
    ++counters_.too_long;
    return false;
  }
  frame_.assign(record.bytes.begin(), record.bytes.end());
  switch (roce::rewrite(options_->rewrite, frame_)) {
    case roce::Rewritten::yes:
      if (!options_->traffic.empty()) roce::rewrite_class(options_->traffic, frame_);
      return true;
    case roce::Rewritten::no_icrc:
      ++counters_.no_icrc;
      return true;
    case roce::Rewritten::not_roce:
      break;
  }
  ++(options_->roce_only ? counters_.left_out : counters_.not_roce);
  return !options_->roce_only;
}

/// Due times never decrease, even if time stamps do (in captures of several interfaces).
Duration ReplaySource::due_of(Instant stamp, std::size_t size) noexcept {
  if (!started_) first_stamp_ = stamp;
  started_ = true;
  if (++sent_in_pass_ == 1) pass_stamp_ = stamp;
  if (pacer_) {
    latest_ = pacer_->due();
    pacer_->advance(wire_bytes(size));
    return latest_;
  }
  const double factor = std::get<Speed>(options_->pace).factor;
  const Duration due = pass_start_ + scaled(capture::stamp_difference(stamp, pass_stamp_), factor);
  return latest_ = std::max(latest_, due);
}

}  // namespace lw::gen

// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/message.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "config/flow/profile.h"
#include "config/limits.h"
#include "config/toml/document.h"
#include "config/toml/table.h"
#include "core/input.h"

namespace lw::config {
namespace {

using wire::Operation;
using wire::Transport;

/// An operation of a profile: names include immediate and invalidate.
struct NamedOperation {
  Operation operation;
  bool immediate = false, invalidate = false;
};

constexpr Choice<NamedOperation> kOperations[] = {
    {"send", {Operation::send}},
    {"send_imm", {Operation::send, true}},
    {"send_inv", {Operation::send, false, true}},
    {"write", {Operation::write}},
    {"write_imm", {Operation::write, true}},
    {"read_request", {Operation::read_request}},
    {"read_response", {Operation::read_response}},
    {"ack", {Operation::ack}},
    {"atomic_ack", {Operation::atomic_ack}},
    {"cmp_swap", {Operation::cmp_swap}},
    {"fetch_add", {Operation::fetch_add}},
    {"resync", {Operation::resync}},
    {"flush", {Operation::flush}},
    {"atomic_write", {Operation::atomic_write}},
    {"cnp", {Operation::cnp}},
};

constexpr Choice<Transport> kTransports[] = {{"rc", Transport::rc},
                                             {"uc", Transport::uc},
                                             {"rd", Transport::rd},
                                             {"ud", Transport::ud},
                                             {"xrc", Transport::xrc}};

constexpr std::uint64_t kAtomicSize = 8;

Parsed<std::uint32_t> read_mtu(const Value& value) {
  for (const std::uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    if (read_unsigned(value, mtu, mtu)) return mtu;
  }
  return std::unexpected("expected 256, 512, 1024, 2048 or 4096, found " + describe(value));
}

/// The only length that the operation allows; nullopt if the profile chooses.
std::optional<std::uint64_t> fixed_length(Operation operation) {
  switch (operation) {
    case Operation::send:
    case Operation::write:
    case Operation::read_request:
    case Operation::read_response:
    case Operation::flush:
      return std::nullopt;
    case Operation::atomic_write:
      return kAtomicSize;
    default:
      return 0;
  }
}

/// Returns the value of a key, or null.
const Value* member(const Entries& entries, std::string_view key) {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

Parsed<std::uint64_t> read_size(const Value& value) { return parse_bytes(text_of(value)); }

Parsed<MessageSizes> read_size_table(const Value& value, const std::string& profile) {
  const auto& entries = std::get<Entries>(value.data);
  const Value* file = member(entries, "file");
  if (file != nullptr && entries.size() == 1) {
    return load_size_distribution(beside(profile, text_of(*file)));
  }
  const Value *min = member(entries, "min"), *max = member(entries, "max");
  if (min == nullptr || max == nullptr || entries.size() != 2) {
    return std::unexpected("expected { min = ..., max = ... } or { file = \"...\" }");
  }
  const auto first = read_size(*min), last = read_size(*max);
  if (!first) return std::unexpected(first.error());
  if (!last) return std::unexpected(last.error());
  if (*first > *last) {
    return std::unexpected(fmt::format("expected min <= max, found {} and {}", *first, *last));
  }
  return MessageSizes::uniform(*first, *last);
}

/// Reads one size, a list, a range { min, max } or a distribution { file }.
Parsed<MessageSizes> read_sizes(const Value& value, const std::string& profile) {
  if (std::holds_alternative<Entries>(value.data)) return read_size_table(value, profile);
  if (!std::holds_alternative<Array>(value.data)) {
    const std::string text = text_of(value);
    if (text.empty()) return std::unexpected("expected text, found " + describe(value));
    const auto size = parse_bytes(text);
    if (!size) return std::unexpected(size.error());
    return MessageSizes::fixed(*size);
  }
  const auto sizes = some_of(read_size)(value);
  if (!sizes) return std::unexpected(sizes.error());
  return MessageSizes::listed(*sizes);
}

void read_length(const Table& table, const FlowContext& context, Flow& flow) {
  roce::MessageFields& message = flow.message;
  const auto read = [&](const Value& value) { return read_sizes(value, context.profile); };
  flow.sizes = table.get_or("message_size", read, MessageSizes::fixed(message.mtu));
  if (const auto fixed = fixed_length(message.operation)) flow.sizes = MessageSizes::fixed(*fixed);
  message.length = flow.sizes.largest();
}

struct Point {
  std::uint64_t size = 0;
  double cdf = 0;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

template <class T>
bool read_point_number(std::string_view text, T& value) {
  text = trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool read_point(std::string_view line, Point& point) {
  const auto comma = line.find(',');
  return comma != std::string_view::npos && read_point_number(line.substr(0, comma), point.size) &&
         read_point_number(line.substr(comma + 1), point.cdf);
}

Parsed<std::vector<Point>> read_points(std::string_view csv) {
  std::vector<Point> points;
  std::istringstream lines{std::string(csv)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#' || text == "size_bytes,cdf") continue;
    Point point;
    if (!read_point(text, point)) {
      return std::unexpected(
          fmt::format("line {}: expected size_bytes,cdf such as 10000,0.15, found \"{}\"", number,
                      text.substr(0, 60)));
    }
    const bool rises =
        points.empty() || (point.size > points.back().size && point.cdf >= points.back().cdf);
    // A NaN is in no range.
    if (!rises || !(point.cdf >= 0 && point.cdf <= 1)) {
      return std::unexpected(fmt::format(
          "line {}: expected a size and a share from 0 to 1, both ascending, found \"{}\"", number,
          text.substr(0, 60)));
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace

bool read_message(const Table& table, const FlowContext& context, Flow& flow) {
  roce::MessageFields& message = flow.message;
  const NamedOperation named = table.get_or("operation", choice(kOperations), {Operation::send});
  message.transport = table.get_or("transport", choice(kTransports), Transport::rc);
  if (named.operation == Operation::cnp) message.transport = Transport::cnp;
  message.operation = named.operation;
  message.immediate = named.immediate;
  message.invalidate = named.invalidate;
  message.mtu = table.get_or("mtu", read_mtu, 1024);
  message.first_psn =
      wire::Psn{table.get_or("first_psn", first_of(integer<std::uint32_t>(0, 0xffffff)), 0)};
  // A CNP has PSN 0, whatever [defaults] say. (IBTA vol. 1, annex A17.9)
  if (message.operation == Operation::cnp) message.first_psn = wire::Psn{0};
  message.solicited_event = table.get_or("se", read_boolean, false);
  message.ack_every = table.get_or("ack_every", integer<std::uint32_t>(), 0);
  read_length(table, context, flow);
  const std::string refusal = refusal_of(message);
  if (refusal.empty()) return true;
  const bool no_such_packet =
      !wire::opcode_of(message.transport, message.operation, wire::Position::only,
                       message.immediate, message.invalidate);
  table.refuse(no_such_packet ? "operation" : "message_size", refusal);
  return false;
}

wire::ExtensionSet extensions_of(const roce::MessageFields& message) {
  wire::ExtensionSet all;
  const std::uint32_t count = packet_count(message);
  // FIRST, MIDDLE, LAST; all MIDDLE packets equal the second packet.
  for (const std::uint32_t index : {0u, std::min(1u, count - 1), count - 1}) {
    const auto set = wire::find_opcode(packet_of(message, index).opcode)->extensions;
    for (int bit = 0; bit < wire::kExtensions; ++bit) {
      if (set.has_bit(bit)) all = all.with(static_cast<wire::Extension>(1 << bit));
    }
  }
  return all;
}

MessageSizes MessageSizes::fixed(std::uint64_t size) { return uniform(size, size); }

MessageSizes MessageSizes::listed(std::vector<std::uint64_t> sizes) {
  MessageSizes result;
  result.smallest_ = *std::ranges::min_element(sizes);
  result.largest_ = *std::ranges::max_element(sizes);
  result.list_ = std::make_shared<const std::vector<std::uint64_t>>(std::move(sizes));
  return result;
}

MessageSizes MessageSizes::uniform(std::uint64_t first, std::uint64_t last) {
  return mixture({{first, last, 1}});
}

MessageSizes MessageSizes::mixture(std::vector<Interval> intervals) {
  MessageSizes result;
  result.smallest_ = intervals.front().first;
  result.largest_ = intervals.back().last;
  result.intervals_ = std::make_shared<const std::vector<Interval>>(std::move(intervals));
  return result;
}

std::uint64_t MessageSizes::draw(const Chance& chance, std::uint64_t number) const noexcept {
  if (!vary()) return largest_;
  if (!intervals_) return (*list_)[number % list_->size()];
  return quantile(chance.uniform(number));
}

std::vector<std::uint64_t> MessageSizes::representatives() const {
  if (!intervals_) return *list_;
  constexpr std::size_t kQuantiles = 65536;
  std::vector<std::uint64_t> sizes(vary() ? kQuantiles : 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = quantile((static_cast<double>(i) + 0.5) / static_cast<double>(sizes.size()));
  }
  return sizes;
}

/// Inverse of the cumulative distribution, for u in [0, 1).
std::uint64_t MessageSizes::quantile(double u) const noexcept {
  const auto& all = *intervals_;
  auto found = std::ranges::upper_bound(all, u, {}, &Interval::cumulative);
  if (found == all.end()) found = all.end() - 1;
  const double below = found == all.begin() ? 0 : std::prev(found)->cumulative;
  const double share = (u - below) / (found->cumulative - below);
  const std::uint64_t width = found->last - found->first + 1;
  const auto into = static_cast<std::uint64_t>(share * static_cast<double>(width));
  return found->first + std::min(into, width - 1);
}

Parsed<MessageSizes> parse_size_distribution(std::string_view csv) {
  const auto points = read_points(csv);
  if (!points) return std::unexpected(points.error());
  if (points->empty() || points->back().cdf != 1) {
    return std::unexpected("expected a cumulative distribution that ends at 1");
  }
  std::vector<MessageSizes::Interval> intervals;
  double reached = 0;
  std::uint64_t next = points->front().size;
  for (const Point& point : *points) {
    // No message has a size in an interval where the cdf is constant.
    if (point.cdf > reached) intervals.push_back({next, point.size, point.cdf});
    reached = point.cdf;
    next = point.size + 1;
  }
  return MessageSizes::mixture(std::move(intervals));
}

Parsed<MessageSizes> load_size_distribution(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return std::unexpected(fmt::format("expected a file of message sizes, found none at {}", file));
  const auto text = read_input_file(file, kMostProfileBytes);
  if (!text) return std::unexpected(text.error().message);
  auto sizes = parse_size_distribution(*text);
  if (!sizes) return std::unexpected(fmt::format("{}: {}", file, sizes.error()));
  return sizes;
}

}  // namespace lw::config

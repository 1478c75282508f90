// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/ledger_reader.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.h"

namespace lw::dissect {
namespace {

using emulator::Direction;
using emulator::Stage;
using json = nlohmann::ordered_json;

/// Reads the keys of one line, and keeps the first error.
class LedgerLine {
 public:
  explicit LedgerLine(const json& object) : object_(object) {}

  std::string text(const char* key) {
    const json* value = find(key);
    if (!value) return {};
    if (value->is_string()) return value->get<std::string>();
    wrong(key, "a text", *value);
    return {};
  }
  /// Empty for null.
  std::string text_or_null(const char* key) {
    return object_.contains(key) && object_[key].is_null() ? std::string() : text(key);
  }
  template <class T>
  T whole(const char* key, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    const json* value = find(key);
    if (!value) return {};
    if (value->is_number_unsigned() && value->get<std::uint64_t>() <= most)
      return static_cast<T>(value->get<std::uint64_t>());
    wrong(key, fmt::format("a whole number from 0 to {}", most), *value);
    return {};
  }
  std::optional<Instant> time(const char* key) {
    const json* value = find(key);
    if (!value || value->is_null()) return std::nullopt;
    if (value->is_number_integer()) return instant_from_ns(value->get<std::int64_t>());
    wrong(key, "a time in ns", *value);
    return std::nullopt;
  }
  Stage stage(const std::string& name) {
    for (unsigned i = 0; i < emulator::kStages; ++i) {
      const auto each = static_cast<Stage>(i);
      if (name_of(each) == name) return each;
    }
    wrong("stage", "the name of a stage", json(name));
    return Stage::none;
  }
  emulator::StageSet stages() {
    emulator::StageSet set;
    if (!object_.contains("stages")) {
      const Stage only = stage(text("stage"));
      if (only != Stage::none) set.add(only);
      return set;
    }
    const json& list = object_["stages"];
    if (!list.is_array()) wrong("stages", "a list", list);
    for (const json& name : list.is_array() ? list : json::array())
      set.add(stage(name.is_string() ? name.get<std::string>() : name.dump()));
    return set;
  }
  void wrong(std::string_view key, std::string_view expected, const json& found) {
    if (error_) return;
    error_ = fmt::format("{}: expected {}, found {}", key, expected,
                         found.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  const json* find(const char* key) {
    const auto at = object_.find(key);
    if (at != object_.end()) return &*at;
    if (!error_) error_ = fmt::format("expected the key \"{}\"", key);
    return nullptr;
  }

  const json& object_;
  std::optional<std::string> error_;
};

bool has_event(const LedgerEntry& entry, std::string_view action) noexcept {
  return entry.stages.has(Stage::event) && (entry.is_unknown_event() || entry.action == action);
}

constexpr const char* kQpKey = "infiniband.bth.destqp";
constexpr std::uint64_t kMost24 = 0xffffff, kMost8 = 0xff;

}  // namespace

bool LedgerEntry::corrupts() const noexcept {
  return stages.has(Stage::corrupt) || has_event(*this, "corrupt");
}
bool LedgerEntry::marks() const noexcept {
  return stages.has(Stage::mark) || stages.has(Stage::queue) || has_event(*this, "mark");
}
bool LedgerEntry::moves() const noexcept {
  return stages.has(Stage::delay) || stages.has(Stage::reorder) || stages.has(Stage::queue) ||
         stages.has(Stage::duplicate) || stages.has(Stage::outage) || has_event(*this, "delay");
}

std::uint32_t LedgerReader::index_of(const std::string& rule) {
  const auto at = std::ranges::find(rules_, rule);
  const auto index = static_cast<std::uint32_t>(at - rules_.begin());
  if (at == rules_.end()) rules_.push_back(rule);
  return index;
}

Parsed<std::optional<LedgerEntry>> LedgerReader::read(std::string_view line) {
  const json object = parse_json(line);
  if (!object.is_object())
    return std::unexpected(fmt::format("expected a JSON object, found \"{}\"", line.substr(0, 40)));
  if (object.size() == 1 && object.contains("change")) return std::nullopt;
  LedgerLine keys(object);
  LedgerEntry entry;
  const std::string direction = keys.text("direction");
  entry.direction = direction == name_of(Direction::east_to_west) ? Direction::east_to_west
                                                                  : Direction::west_to_east;
  if (name_of(entry.direction) != direction)
    keys.wrong("direction", "west-to-east or east-to-west", json(direction));
  entry.frame = keys.whole<std::uint64_t>("frame");
  entry.in = keys.time("time_in_ns").value_or(Instant{});
  entry.out = keys.time("time_out_ns");
  entry.rule = index_of(keys.text_or_null("rule"));
  entry.stages = keys.stages();
  entry.action = keys.text("action");
  if (object.contains("copy")) entry.copy = keys.whole<std::uint8_t>("copy", kMost8);
  entry.roce = object.contains(kQpKey);
  if (entry.roce) {
    entry.dest_qp = keys.whole<std::uint32_t>(kQpKey, kMost24);
    entry.psn = keys.whole<std::uint32_t>("infiniband.bth.psn", kMost24);
    entry.opcode = keys.whole<std::uint8_t>("infiniband.bth.opcode", kMost8);
  }
  if (keys.error()) return std::unexpected(*keys.error());
  return entry;
}

}  // namespace lw::dissect

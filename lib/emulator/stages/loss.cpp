// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/loss.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/figure.h"
#include "core/names.h"
#include "emulator/limits.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/loss_audit.h"

namespace lw::emulator {
namespace {

// Longer frames count as this long. No port carries longer ones.
constexpr std::uint32_t kLongestFrame = 16384;

constexpr std::string_view kModels[] = {"independent", "correlated", "gilbert-elliott",
                                        "four-state",  "bursts",     "every",
                                        "pattern",     "bit-errors", "listed"};
enum class ModelKind : std::uint8_t {  // as kModels
  independent,
  correlated,
  gilbert_elliott,
  four_state,
  bursts,
  every,
  pattern,
  bit_errors,
  listed,
};

double optional_share(const StageKeys& table, std::string_view key, double fallback) {
  return table.get_or(key, parse_probability, fallback);
}

double required_share(const StageKeys& table, std::string_view key) {
  return table.require(key, parse_probability, "a probability, \"1%\"").value_or(0);
}

GilbertElliott read_gilbert_elliott(const StageKeys& table) {
  GilbertElliott m;
  m.p = required_share(table, "p");
  m.r = optional_share(table, "r", 1 - m.p);
  m.bad_loss = optional_share(table, "bad_loss", m.bad_loss);
  m.good_loss = optional_share(table, "good_loss", m.good_loss);
  return m;
}

FourState read_four_state(const StageKeys& table) {
  FourState m;
  m.p13 = required_share(table, "p13");
  m.p31 = optional_share(table, "p31", 1 - m.p13);
  m.p32 = optional_share(table, "p32", m.p32);
  m.p23 = optional_share(table, "p23", m.p23);
  m.p14 = optional_share(table, "p14", m.p14);
  constexpr double kRounding = 1e-12;
  if (m.p13 + m.p14 > 1 + kRounding) table.refuse("p14", "expected p13 + p14 to be at most 1");
  if (m.p31 + m.p32 > 1 + kRounding) table.refuse("p32", "expected p31 + p32 to be at most 1");
  if (m.p13 > 0 && m.p32 > 0 && m.p23 == 0)
    table.refuse("p23",
                 "expected more than 0 beside p32, or the model ends in state 2, which never loses "
                 "a frame; found 0");
  return m;
}

constexpr std::uint32_t kLongestBurst = 1'000'000;

/// A file of the lengths of bursts, a length a line.
Parsed<std::vector<std::uint32_t>> parse_lengths(std::string_view csv) {
  const auto rows = csv_rows(csv, kMostBins);
  if (!rows) return std::unexpected(rows.error());
  if (rows->empty()) return std::unexpected("expected lengths of bursts, found none");
  std::vector<std::uint32_t> lengths;
  for (const CsvRow& row : *rows) {
    const std::string_view text = row.fields.front();
    std::uint32_t length = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), length);
    if (row.fields.size() != 1 || read.ec != std::errc() || read.ptr != text.data() + text.size() ||
        length == 0 || length > kLongestBurst)
      return at_line(row.line, fmt::format("expected a number from 1 to {}, found \"{}\"",
                                           kLongestBurst, text));
    lengths.push_back(length);
  }
  std::ranges::sort(lengths);
  return lengths;
}

Bursts read_bursts(const StageKeys& table) {
  Bursts m;
  m.probability = required_share(table, "begin");
  if (table.has("file")) {
    if (table.has("length")) table.refuse("length", "expected either length or file, found both");
    m.lengths = table.file<std::vector<std::uint32_t>>("file", parse_lengths)
                    .value_or(std::vector<std::uint32_t>{1});
    m.shortest = m.lengths.front();
    m.longest = m.lengths.back();
    return m;
  }
  table.need("length", "frames of a burst: 5, or from to: [3, 8]");
  const auto lengths = table.integers("length", 1, kLongestBurst);
  if (lengths.empty()) return m;
  m.shortest = static_cast<std::uint32_t>(lengths.front());
  m.longest = static_cast<std::uint32_t>(lengths.back());
  if (lengths.size() > 2 || m.shortest > m.longest)
    table.refuse("length", "expected one number, or the shortest and the longest");
  return m;
}

Parsed<std::vector<bool>> read_bits(std::string_view text) {
  std::vector<bool> bits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '0' && text[i] != '1')
      return std::unexpected(fmt::format("expected 0s and 1s, 1 for a lost frame; found '{}'",
                                         first_character(text.substr(i))));
    bits.push_back(text[i] == '1');
  }
  return bits;
}

BitPattern read_pattern(const StageKeys& table) {
  table.need("bits", "a pattern such as \"00010\"");
  const auto text = table.text("bits");
  if (!text) return {{false}};
  const auto bits = read_bits(*text);
  if (!bits) table.refuse("bits", bits.error());
  return {bits.value_or(std::vector<bool>{false})};
}

/// Parses one or more numbers per line; # begins a comment.
Parsed<std::vector<std::uint64_t>> parse_frame_list(std::string_view text) {
  std::vector<std::uint64_t> frames;
  std::size_t line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c >= '0' && c <= '9') {
      std::uint64_t frame = 0;
      const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), frame);
      if (error != std::errc{})
        return at_line(line, fmt::format("expected frame numbers below 2^64, found \"{}\"",
                                         excerpt(text.substr(i, text.find('\n', i) - i))));
      i = static_cast<std::size_t>(end - text.data());
      frames.push_back(frame);
    } else if (std::string_view(" \t\r\n,").find(c) != std::string_view::npos) {
      ++i;
    } else {
      return std::unexpected(fmt::format("line {}: expected frame numbers, found '{}'", line,
                                         first_character(text.substr(i))));
    }
  }
  return frames;
}

ListedFrames read_listed(const StageKeys& table) {
  ListedFrames m;
  m.frames = table.integers("frames");
  if (auto frames = table.file<std::vector<std::uint64_t>>("file", parse_frame_list))
    m.frames = std::move(*frames);
  if (table.has("frames") == table.has("file"))
    table.refuse("expected either frames = [3, 17] or file = \"frames.txt\"");
  std::ranges::sort(m.frames);
  const auto again = std::ranges::unique(m.frames);
  m.frames.erase(again.begin(), again.end());
  return m;
}

LossConfig read_model(const StageKeys& table, ModelKind model) {
  switch (model) {
    case ModelKind::correlated:
      return CorrelatedLosses{
          required_share(table, "probability"),
          table.require("correlation", read_correlation, "a share, \"25%\"").value_or(0)};
    case ModelKind::gilbert_elliott:
      return read_gilbert_elliott(table);
    case ModelKind::four_state:
      return read_four_state(table);
    case ModelKind::bursts:
      return read_bursts(table);
    case ModelKind::every:
      table.need("nth", "a number of frames, 1000");
      return EveryNth{table.integer<std::uint64_t>("nth", 1).value_or(1)};
    case ModelKind::pattern:
      return read_pattern(table);
    case ModelKind::bit_errors:
      return BitErrors{required_share(table, "rate")};
    case ModelKind::listed:
      return read_listed(table);
    case ModelKind::independent:
      break;
  }
  return required_share(table, "probability");
}

}  // namespace

bool FourStateLoss::operator()(const LossInput& in, const Chance& chance) noexcept {
  const std::uint64_t draw = chance.bits(in.number);
  switch (state_) {
    case State::arrives_in_gap:
      if (p14_.hit(draw)) {
        state_ = State::lost_in_gap;
      } else if (p14_or_13_.hit(draw)) {
        state_ = State::lost_in_burst;
      }
      break;
    case State::arrives_in_burst:
      if (p23_.hit(draw)) state_ = State::lost_in_burst;
      break;
    case State::lost_in_burst:
      if (p32_.hit(draw)) {
        state_ = State::arrives_in_burst;
      } else if (p32_or_31_.hit(draw)) {
        state_ = State::arrives_in_gap;
      }
      break;
    case State::lost_in_gap:
      state_ = State::arrives_in_gap;
      break;
  }
  return state_ == State::lost_in_burst || state_ == State::lost_in_gap;
}

BitErrorLoss::BitErrorLoss(const BitErrors& m) {
  of_length_.reserve(kLongestFrame + 1);
  for (std::uint32_t bytes = 0; bytes <= kLongestFrame; ++bytes)
    of_length_.emplace_back(expected_loss(m, bytes));
}

LossModel::LossModel(const LossConfig& config, Chance chance)
    : model_(model_of(config, chance)), chance_(chance) {}

LossModel::Model LossModel::model_of(const LossConfig& config, const Chance& chance) {
  struct Make {
    const Chance& chance;
    Model operator()(double probability) const { return IndependentLoss(probability); }
    Model operator()(const CorrelatedLosses& m) const { return CorrelatedLoss(m, chance); }
    Model operator()(const GilbertElliott& m) const { return GilbertElliottLoss(m); }
    Model operator()(const FourState& m) const { return FourStateLoss(m); }
    Model operator()(const Bursts& m) const { return BurstLoss(m); }
    Model operator()(const EveryNth& m) const { return EveryNthLoss(m); }
    Model operator()(const BitPattern& m) const { return PatternLoss(m); }
    Model operator()(const BitErrors& m) const { return BitErrorLoss(m); }
    Model operator()(const ListedFrames& m) const { return ListedLoss(m); }
  };
  return std::visit(Make{chance}, config);
}

bool Loss::present(const RuleConfig& rule) noexcept { return loses(rule.loss) || rule.trace; }

Loss::Loss(const RuleConfig& rule, const StageSetup& setup)
    : model_(rule.loss, setup.chance(rule.name, kName)),
      chance_(setup.chance(rule.name, kName)),
      active_(loses(rule.loss)) {}

std::optional<bool> Loss::drops_by_trace(const Passage& p) const noexcept {
  if (!p.row->loss) return std::nullopt;
  const bool lost = Threshold(*p.row->loss).hit(chance_.bits(p.number));
  p.traced->add(lost);
  ++p.row_stats->frames;
  return lost;
}

void Loss::inherit(Loss& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept {
  if (rule.loss == old_rule.loss) std::swap(*this, old);
}

void Loss::inherit_counts(Stats& stats, Stats& old, const RuleConfig& rule,
                          const RuleConfig& old_rule) noexcept {
  if (rule.loss == old_rule.loss) std::swap(stats, old);
}

void Loss::read(const StageKeys& rule, Settings& settings) {
  if (!rule.is_table(kName)) {
    settings.loss = rule.get_or(kName, parse_probability, 0.0);
    return;
  }
  const auto table = rule.table(kName);
  table->need("model", "how frames are lost");
  const auto model = table->choice("model", kModels);
  // The other permitted keys depend on the model.
  if (!model) return;
  settings.loss = read_model(*table, static_cast<ModelKind>(*model));
  table->finish();
}

void Loss::describe(const RuleConfig& rule, StageTexts& texts) {
  if (loses(rule.loss)) texts.emplace_back(kName, emulator::describe(rule.loss));
}

void Loss::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  audit_loss(rule.loss, stats, checks);
  if (rule.trace) audit_traced_loss(*rule.trace, stats, checks);
}

/// Lists the number of runs of 1, 2, ... lost frames, up to the longest.
std::span<const std::uint64_t> LossStats::finished_runs() const noexcept {
  const auto longest =
      std::find_if(runs.rbegin(), runs.rend(), [](std::uint64_t count) { return count > 0; });
  return {runs.begin(), longest.base()};
}

const FigureTable& LossStats::figures() {
  using Row = FigureOf<LossStats>;
  static constexpr Figure kRows[] = {
      Row::of<&LossStats::frames>("frames", "Frames that the stage saw.", Unit::frames),
      Row::of<&LossStats::lost>("lost", "Frames that it lost.", Unit::frames),
      Row::of<&LossStats::finished_runs>("runs", "Numbers of runs of 1, 2, 3... losses.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& Loss::figures() {
  static constexpr Figure kRows[] = {FigureOf<RuleStats>::of<[](const RuleStats& stats) {
    LossStats loss = stats.loss;
    loss.add(stats.traced);
    return loss;
  }>("loss", "Runs of losses.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

}  // namespace lw::emulator

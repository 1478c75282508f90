// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "config/impair/impair_stages.h"

namespace lw::config {
namespace {

enum class Model : std::uint8_t {
  independent,
  gilbert_elliott,
  four_state,
  bursts,
  every,
  pattern,
  bit_errors,
  listed,
};
constexpr Choice<Model> kModels[] = {
    {"independent", Model::independent},
    {"gilbert-elliott", Model::gilbert_elliott},
    {"four-state", Model::four_state},
    {"bursts", Model::bursts},
    {"every", Model::every},
    {"pattern", Model::pattern},
    {"bit-errors", Model::bit_errors},
    {"listed", Model::listed},
};

double share(const Table& table, std::string_view key, double fallback) {
  return table.get_or(key, parse_probability, fallback);
}

double required_share(const Table& table, std::string_view key) {
  return table.require(key, parse_probability, "a probability, \"1%\"").value_or(0);
}

emulator::GilbertElliott read_gilbert_elliott(const Table& table) {
  emulator::GilbertElliott m;
  m.p = required_share(table, "p");
  m.r = share(table, "r", 1 - m.p);
  m.bad_loss = share(table, "bad_loss", m.bad_loss);
  m.good_loss = share(table, "good_loss", m.good_loss);
  return m;
}

emulator::FourState read_four_state(const Table& table) {
  emulator::FourState m;
  m.p13 = required_share(table, "p13");
  m.p31 = share(table, "p31", 1 - m.p13);
  m.p32 = share(table, "p32", m.p32);
  m.p23 = share(table, "p23", m.p23);
  m.p14 = share(table, "p14", m.p14);
  constexpr double kRounding = 1e-12;
  if (m.p13 + m.p14 > 1 + kRounding) table.refuse("p14", "expected p13 + p14 to be at most 1");
  if (m.p31 + m.p32 > 1 + kRounding) table.refuse("p32", "expected p31 + p32 to be at most 1");
  return m;
}

emulator::Bursts read_bursts(const Table& table) {
  emulator::Bursts m;
  m.probability = required_share(table, "begin");
  const auto lengths = table.require("length", some_of(integer<std::uint32_t>(1, 1'000'000)),
                                     "frames of a burst: 5, or from to: [3, 8]");
  if (!lengths) return m;
  m.shortest = lengths->front();
  m.longest = lengths->back();
  if (lengths->size() > 2 || m.shortest > m.longest)
    table.refuse("length", "expected one number, or the shortest and the longest");
  return m;
}

Parsed<std::vector<bool>> read_bits(const Value& value) {
  const auto text = read_text(value);
  if (!text) return std::unexpected(text.error());
  std::vector<bool> bits;
  for (const char c : *text) {
    if (c != '0' && c != '1')
      return std::unexpected(fmt::format("expected 0s and 1s, 1 for a lost frame; found '{}'", c));
    bits.push_back(c == '1');
  }
  return bits;
}

/// One number a line, or several; # begins a comment.
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
      const auto end = std::from_chars(text.data() + i, text.data() + text.size(), frame).ptr;
      i = static_cast<std::size_t>(end - text.data());
      frames.push_back(frame);
    } else if (std::string_view(" \t\r\n,").find(c) != std::string_view::npos) {
      ++i;
    } else {
      return std::unexpected(fmt::format("line {}: expected frame numbers, found '{}'", line, c));
    }
  }
  return frames;
}

emulator::ListedFrames read_listed(const Table& table, const std::filesystem::path& folder) {
  emulator::ListedFrames m;
  m.frames = table.get_or("frames", some_of(integer<std::uint64_t>()), {});
  if (const auto file = table.get("file", read_text)) {
    const auto text = read_whole_file(folder / *file);
    const auto frames = text ? parse_frame_list(*text) : std::unexpected(text.error());
    if (!frames) table.refuse("file", frames.error());
    if (frames) m.frames = *frames;
  }
  if (table.has("frames") == table.has("file"))
    table.refuse("expected either frames = [3, 17] or file = \"frames.txt\"");
  std::ranges::sort(m.frames);
  const auto again = std::ranges::unique(m.frames);
  m.frames.erase(again.begin(), again.end());
  return m;
}

emulator::LossConfig read_model(const Table& table, Model model,
                                const std::filesystem::path& folder) {
  switch (model) {
    case Model::gilbert_elliott:
      return read_gilbert_elliott(table);
    case Model::four_state:
      return read_four_state(table);
    case Model::bursts:
      return read_bursts(table);
    case Model::every:
      return emulator::EveryNth{
          table.require("nth", integer<std::uint64_t>(1), "a number of frames, 1000").value_or(1)};
    case Model::pattern:
      return emulator::BitPattern{table.require("bits", read_bits, "a pattern such as \"00010\"")
                                      .value_or(std::vector<bool>{false})};
    case Model::bit_errors:
      return emulator::BitErrors{required_share(table, "rate")};
    case Model::listed:
      return read_listed(table, folder);
    case Model::independent:
      break;
  }
  return required_share(table, "probability");
}

}  // namespace

emulator::LossConfig read_loss(const Table& rule, const std::filesystem::path& folder) {
  if (!rule.get("loss", is_table).value_or(false))
    return rule.get_or("loss", parse_probability, 0.0);
  const auto table = rule.table("loss");
  const auto model = table->require("model", choice(kModels), "how frames are lost");
  // Which other keys there are depends on it.
  if (!model) return 0.0;
  const emulator::LossConfig loss = read_model(*table, *model, folder);
  table->finish();
  return loss;
}

}  // namespace lw::config

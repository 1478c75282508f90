// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/perftest_line.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lw::gen::perftest {
namespace {

constexpr auto kPrograms = std::to_array<PerftestProgram>({
    {"ib_write_bw", "write", false, "65536", "5000"},
    {"ib_send_bw", "send", false, "65536", "1000"},
    {"ib_read_bw", "read", false, "65536", "1000"},
    {"ib_atomic_bw", "atomic", false, "8", "1000"},
    {"ib_write_lat", "write", true, "2", "1000"},
    {"ib_send_lat", "send", true, "2", "1000"},
    {"ib_read_lat", "read", true, "2", "1000"},
    {"ib_atomic_lat", "atomic", true, "8", "1000"},
});
/// Stands for a line without a program's name: nothing is left out of it.
constexpr PerftestProgram kAnyProgram{"roce-gen perf", "send", false, "", ""};

constexpr std::string_view kRawPrefix = "raw_ethernet_";

/// The file's name in "/usr/bin/ib_write_bw".
std::string_view file_of(std::string_view word) noexcept {
  return word.substr(word.rfind('/') + 1);
}

bool is_perftest(std::string_view word) noexcept {
  const std::string_view file = file_of(word);
  return file.starts_with(kRawPrefix) ||
         std::ranges::find(kPrograms, file, &PerftestProgram::name) != kPrograms.end();
}

class LineReader {
 public:
  explicit LineReader(std::span<const std::string> words) : words_(words) {}

  Result<PerftestLine> read() {
    const auto name =
        std::ranges::find_if(words_, [](const std::string& word) { return is_perftest(word); });
    if (name == words_.end() || words_.front().starts_with('-'))
      return fail(
          fmt::format("expected ib_write_bw, ib_send_bw, ib_read_bw, ib_atomic_bw, or one "
                      "of their _lat, behind --, found \"{}\"",
                      words_.front()));
    const std::string_view program = file_of(*name);
    if (program.starts_with(kRawPrefix))
      return fail(fmt::format("{}: sends raw Ethernet frames, which are no RDMA: see roce-gen run",
                              program));
    line_.skipped = fmt::format("{}", fmt::join(words_.begin(), name, " "));
    const std::string_view path = std::string_view(*name).substr(0, name->size() - program.size());
    if (!path.empty()) line_.skipped += (line_.skipped.empty() ? "" : " ") + std::string(path);
    words_ = words_.subspan(static_cast<std::size_t>(name - words_.begin()));
    return read_as(*std::ranges::find(kPrograms, program, &PerftestProgram::name));
  }
  /// Reads the options behind the first word as those of `program`.
  Result<PerftestLine> read_as(const PerftestProgram& program) {
    line_.program = &program;
    for (at_ = 1; at_ < words_.size(); ++at_)
      if (auto read = read_word(words_[at_]); !read) return std::unexpected(read.error());
    return line_;
  }

 private:
  Result<void> read_word(const std::string& word) {
    if (word.starts_with("--")) return read_long(std::string_view(word).substr(2));
    if (word.size() > 1 && word.starts_with('-')) return read_letters(word);
    if (!line_.server.empty())
      return fail(fmt::format("expected one server, found \"{}\" and \"{}\"", line_.server, word));
    line_.server = word;
    return {};
  }

  Result<void> read_long(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const std::vector<const PerftestOption*> found = by_name(name);
    if (found.empty()) return unknown(fmt::format("--{}", name));
    if (found.size() > 1) return ambiguous(name, found);
    const PerftestOption* option = found.front();
    if (equals == std::string_view::npos) return add(*option, {});
    if (!option->takes_value) return fail(fmt::format("--{} takes no value", name));
    line_.given.push_back({option, std::string(text.substr(equals + 1))});
    return {};
  }

  Result<void> read_letters(std::string_view word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const PerftestOption* option = by_letter(word[i]);
      if (option == nullptr) return unknown(fmt::format("-{}", word[i]));
      if (option->takes_value) return add(*option, word.substr(i + 1));
      line_.given.push_back({option, {}});
    }
    return {};
  }

  /// Adds an option, whose value is `attached` or the next word.
  Result<void> add(const PerftestOption& option, std::string_view attached) {
    std::string value(attached);
    // Old releases take no value: "--use_cuda -a".
    const bool none = option.treatment == Treatment::unsimulated && at_ + 1 < words_.size() &&
                      words_[at_ + 1].starts_with('-');
    if (option.takes_value && value.empty() && !none) {
      if (at_ + 1 == words_.size())
        return fail(fmt::format("{}: expected a value, found none", written(option)));
      value = words_[++at_];
    }
    line_.given.push_back({&option, std::move(value)});
    return {};
  }

  [[nodiscard]] Result<void> unknown(const std::string& option) const {
    return fail(
        fmt::format("{}: perftest up to {} has no such option: leave it out if it is one "
                    "of a fork",
                    option, kNewestRelease));
  }
  [[nodiscard]] static Result<void> ambiguous(std::string_view beginning,
                                              const std::vector<const PerftestOption*>& found) {
    std::string names;
    for (const PerftestOption* option : found)
      names += fmt::format("{}--{}", names.empty() ? "" : ", ", option->name);
    return fail(fmt::format("--{}: is the beginning of {}", beginning, names));
  }

  std::span<const std::string> words_;
  std::size_t at_ = 0;
  PerftestLine line_{};
};

}  // namespace

Result<PerftestLine> read_line(std::span<const std::string> words) {
  return LineReader(words).read();
}

Result<PerftestLine> read_options(std::span<const std::string> words) {
  return LineReader(words).read_as(kAnyProgram);
}

}  // namespace lw::gen::perftest

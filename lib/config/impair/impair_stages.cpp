// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/impair_stages.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "emulator/stages/keys.h"

namespace lw::config {
namespace {

/// A table of a profile as the key source of the emulator's stages.
class TableKeys final : public emulator::StageKeys {
 public:
  TableKeys(Table table, const std::filesystem::path& folder)
      : table_(std::move(table)), folder_(&folder) {}

  bool has(std::string_view key) const override { return table_.has(key); }
  bool is_table(std::string_view key) const override {
    const auto holds_entries = [](const Value& value) -> Parsed<bool> {
      return std::holds_alternative<Entries>(value.data);
    };
    return table_.get(key, holds_entries).value_or(false);
  }
  std::unique_ptr<StageKeys> table(std::string_view key) const override {
    auto table = table_.table(key);
    if (!table) return nullptr;
    return std::make_unique<TableKeys>(std::move(*table), *folder_);
  }
  std::optional<double> number(std::string_view key, double least, double most) const override {
    return table_.get(key, config::number(least, most));
  }
  std::optional<bool> boolean(std::string_view key) const override {
    return table_.get(key, read_boolean);
  }
  std::optional<std::string> text(std::string_view key) const override {
    return table_.get(key, config::read_text);
  }
  std::vector<std::uint64_t> integers(std::string_view key, std::uint64_t least,
                                      std::uint64_t most) const override {
    return table_.get_or(key, some_of(config::integer<std::uint64_t>(least, most)), {});
  }
  std::optional<std::size_t> choice(std::string_view key,
                                    std::span<const std::string_view> names) const override {
    return table_.get(key, [&](const Value& value) { return read_choice(value, names); });
  }
  Parsed<std::string> file(const std::string& name) const override {
    return read_whole_file(*folder_ / name);
  }
  void need(std::string_view key, std::string_view what) const override {
    if (!table_.has(key)) static_cast<void>(table_.require(key, config::read_text, what));
  }
  void refuse(std::string_view key, std::string_view message) const override {
    table_.refuse(key, message);
  }
  void refuse(std::string_view message) const override { table_.refuse(message); }
  void finish() const override { table_.finish(); }

 protected:
  void read_text(std::string_view key, TextReader& read) const override {
    static_cast<void>(table_.get(key, [&](std::string_view text) -> Parsed<bool> {
      std::string error = read(text);
      if (!error.empty()) return std::unexpected(std::move(error));
      return true;
    }));
  }
  std::optional<std::uint64_t> read_integer(std::string_view key, std::uint64_t least,
                                            std::uint64_t most) const override {
    return table_.get(key, config::integer<std::uint64_t>(least, most));
  }

 private:
  Table table_;
  const std::filesystem::path* folder_;
};

}  // namespace

Parsed<std::string> read_whole_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return std::unexpected(fmt::format("expected a file, found none at {}", file.string()));
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return std::unexpected(
        fmt::format("expected a readable file, found none at {}", file.string()));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // spreadsheets write it before UTF-8
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

void read_stages(const Table& rule, const std::filesystem::path& folder,
                 emulator::RuleConfig& config) {
  emulator::read_stages(TableKeys(rule, folder), config);
}

}  // namespace lw::config

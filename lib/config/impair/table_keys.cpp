// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/table_keys.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/impair/static_profile.h"
#include "config/toml/settings.h"

namespace lw::config {
namespace {

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
  using StageKeys::settings;
  void settings(const FigureTable& rows, void* object) const override {
    read_settings(table_, rows, object);
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
  void read_file(std::string_view key, TextReader& read) const override {
    const auto name = table_.file_name(key);
    if (!name) return;
    const auto text = read_whole_file(*folder_, *name);
    if (!text) return table_.refuse(key, text.error());
    const std::string error = read(*text);
    if (!error.empty()) table_.refuse_file(key, error);
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

std::unique_ptr<emulator::StageKeys> keys_of(const Table& table,
                                             const std::filesystem::path& folder) {
  return std::make_unique<TableKeys>(table, folder);
}

}  // namespace lw::config

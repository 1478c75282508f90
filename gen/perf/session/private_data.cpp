// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/private_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/single_value.h"

namespace lw::gen {
namespace {

constexpr std::uint32_t kMagic = 0x4c575046;  // LWPF
constexpr std::uint8_t kVersion = 3;

/// Writes numbers in network byte order, as far as there is room.
class Packer final : public SingleValueSink {
 public:
  explicit Packer(PrivateData& data) : data_(data) {}

  void put(std::uint64_t number, std::size_t bytes) noexcept {
    for (std::size_t left = bytes; left > 0 && at_ < data_.size(); --left)
      data_[at_++] = static_cast<std::byte>(number >> 8 * (left - 1));
  }
  void begin(const Figure& row) noexcept { row_ = &row; }

  void value(const FigureValue& value) override {
    if (const auto* truth = std::get_if<bool>(&value)) put(*truth ? 1 : 0, 1);
    if (const auto* number = std::get_if<std::uint64_t>(&value)) put(*number, row_->type->bytes);
    if (const auto* word = std::get_if<std::string_view>(&value))
      put(static_cast<std::uint64_t>(std::ranges::find(row_->choices, *word) -
                                     row_->choices.begin()),
          1);
  }

 private:
  PrivateData& data_;
  std::size_t at_ = 0;
  const Figure* row_ = nullptr;
};

/// Reads them; 0 behind the end.
class Unpacker final : public SingleValueSource {
 public:
  explicit Unpacker(wire::Bytes data) : data_(data) {}

  std::uint64_t get(std::size_t bytes) noexcept {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i, ++at_)
      number = number << 8 | (at_ < data_.size() ? std::to_integer<unsigned>(data_[at_]) : 0);
    return number;
  }
  void begin(const Figure& row) noexcept { row_ = &row; }

  FigureValue value(const FigureType& type) override {
    if (type.shape == FigureType::Shape::truth) return within(get(1), 0, 1) == 1;
    const std::uint64_t number = get(type.bytes);
    if (!row_->is_setting()) return number;
    return within(number, static_cast<std::uint64_t>(row_->least),
                  static_cast<std::uint64_t>(row_->most));
  }
  std::size_t choice() override { return within(get(1), 0, row_->choices.size() - 1); }
  void refuse(std::string_view why) override {
    if (error.empty()) error = fmt::format("{}: {}", row_->name, why);
  }

  std::string error;

 private:
  std::uint64_t within(std::uint64_t number, std::uint64_t low, std::uint64_t high) {
    if (number >= low && number <= high) return number;
    refuse(fmt::format("expected {} to {}, found {}", low, high, number));
    return low;
  }

  wire::Bytes data_;
  std::size_t at_ = 0;
  const Figure* row_ = nullptr;
};

}  // namespace

PrivateData pack(PrivateKind kind, std::span<const Figure> rows, const void* object) noexcept {
  PrivateData data{};
  Packer packer(data);
  packer.put(kMagic, sizeof kMagic);
  packer.put(kVersion, 1);
  packer.put(static_cast<std::uint64_t>(kind), 1);
  for (const Figure& row : rows) {
    packer.begin(row);
    row.read(object, packer);
  }
  return data;
}

Parsed<void> unpack(wire::Bytes data, PrivateKind kind, std::span<const Figure> rows,
                    void* object) {
  if (data.size() < std::tuple_size_v<PrivateData>)
    return std::unexpected(fmt::format("expected {} bytes of private data, found {}",
                                       std::tuple_size_v<PrivateData>, data.size()));
  Unpacker unpacker(data);
  if (unpacker.get(sizeof kMagic) != kMagic) return std::unexpected("only roce-gen is served here");
  if (const std::uint64_t version = unpacker.get(1); version != kVersion)
    return std::unexpected(
        fmt::format("this side speaks version {}, the other side {}; use the same release on both "
                    "sides",
                    kVersion, version));
  if (const std::uint64_t found = unpacker.get(1); found != static_cast<std::uint64_t>(kind))
    return std::unexpected(fmt::format("expected private data of kind {}, found {}",
                                       static_cast<unsigned>(kind), found));
  for (const Figure& row : rows) {
    unpacker.begin(row);
    row.write(object, unpacker);
  }
  if (!unpacker.error.empty()) return std::unexpected(unpacker.error);
  return {};
}

}  // namespace lw::gen

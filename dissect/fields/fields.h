// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/quantity.h"
#include "dissect/fields/frame_source.h"
#include "roce/field_table.h"

namespace lw::dissect {

/// A captured frame, parsed. Its ICRC is checked at the first icrc().
class Dissection {
 public:
  explicit Dissection(const CapturedFrame& of)
      : captured(of), frame(roce::parse(captured.envelope)) {}

  [[nodiscard]] roce::IcrcVerdict icrc() const {
    if (!icrc_) icrc_ = roce::check_icrc(captured.envelope);
    return *icrc_;
  }
  [[nodiscard]] bool is_roce() const { return captured.envelope.is_roce(); }

  const CapturedFrame& captured;
  std::expected<roce::Frame, roce::ParseError> frame;
  /// Result of PsnGaps for this frame, if a caller has set it.
  std::optional<std::uint64_t> psn_gap;
  /// Stamp of the first frame that was read, if a caller has set it.
  std::optional<Instant> first_stamp;
  /// Stamp of the frame that was read before this one, of the first frame its own, if a caller has
  /// set it.
  std::optional<Instant> stamp_before;

 private:
  mutable std::optional<roce::IcrcVerdict> icrc_;
};

/// The types of a field's values, in the order of `Value`. A time is in ns since 1970.
enum class FieldType : std::uint8_t { number, mac, ipv4, ipv6, time, text };
using Value = std::variant<std::uint64_t, wire::MacAddress, wire::Ipv4Address, wire::Ipv6Address,
                           Instant, std::string>;
/// "number", "MAC address", "IPv4 address", "IPv6 address", "time", "text".
std::string_view name_of(FieldType type);

/// The values of a field in a frame: none, one or two.
class Values {
 public:
  void clear() { count_ = 0; }
  void add(Value value) {
    if (count_ < list_.size()) list_[count_++] = std::move(value);
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] auto begin() const { return list_.begin(); }
  [[nodiscard]] auto end() const { return list_.begin() + static_cast<std::ptrdiff_t>(count_); }

 private:
  std::array<Value, 2> list_;
  std::size_t count_ = 0;
};

/// A field of a frame: from the capture's record, from a header, or computed by longwire. Names
/// that Wireshark doesn't have begin with "longwire.".
struct Field : wire::FieldInfo {
  FieldType type{};
  bool in_csv = true;                         // a column of `list --csv`
  bool in_json = true;                        // false: repeats other fields, as ip.addr does
  const roce::HeaderField* header = nullptr;  // a header's field; null: see read()
  void (*read)(const Dissection&, Values&) = nullptr;
};

/// Name of the field that a caller sets in Dissection::psn_gap.
inline constexpr std::string_view kPsnGapName = "longwire.psn_gap";

/// All fields, in the order in which `list` shows them. `list`, --where, --fields, CSV, JSON and
/// `fields` read this table: a new row adds a field to all of them.
std::span<const Field> field_table();

/// Finds a field by its name: Wireshark's ("infiniband.bth.psn"), without its first word if that is
/// infiniband, longwire or frame ("bth.psn"), or its key in a [[flow]] ("dst_qp"). The error holds
/// the nearest name.
Parsed<const Field*> find_field(std::string_view name);

/// The fields of a protocol by its name in Wireshark ("ip", "infiniband.reth"), or without
/// "infiniband."; empty: there is no such protocol.
std::vector<const Field*> fields_of_protocol(std::string_view protocol);

/// Replaces `values` by the field's values in a frame.
void read_field(const Field& field, const Dissection& dissection, Values& values);
/// Appends the values as Wireshark prints them; two are "100,200".
void append_values(std::string& out, const Field& field, const Values& values);
/// Appends a frame's values in this form, and returns their number.
std::size_t append_field(std::string& out, const Field& field, const Dissection& dissection);

}  // namespace lw::dissect

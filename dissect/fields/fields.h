// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dissect/frame_source.h"
#include "roce/frame.h"
#include "roce/icrc_check.h"

namespace lw::dissect {

/// A number that Wireshark shows as 0x and so many digits.
struct Hex {
  std::uint64_t value;
  int digits;
  friend bool operator==(const Hex&, const Hex&) = default;
};

/// One field under Wireshark's filter name, its value in Wireshark's form: decimal numbers, hex
/// numbers with all their digits, text. What Wireshark has no name for begins with "longwire.".
struct Field {
  std::string_view name;
  std::variant<std::uint64_t, Hex, std::string> value;
};

/// Fields in the order of the frame's bytes. The names live for ever.
class FieldList {
 public:
  void number(std::string_view name, std::uint64_t value) { fields_.push_back({name, value}); }
  void hex(std::string_view name, std::uint64_t value, int digits) {
    fields_.push_back({name, Hex{value, digits}});
  }
  void text(std::string_view name, std::string value) {
    fields_.push_back({name, std::move(value)});
  }
  void clear() { fields_.clear(); }
  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }
  /// As Wireshark prints it; empty where the frame has no such field.
  [[nodiscard]] std::string find(std::string_view name) const;

 private:
  std::vector<Field> fields_;
};

/// "31", "0x00001a", "10.0.0.1".
std::string to_string(const Field& field);

/// A frame with all that the commands want to know of it.
struct Dissection {
  const CapturedFrame& captured;
  std::expected<roce::Frame, roce::ParseError> frame;
  roce::IcrcVerdict icrc;
};
Dissection dissect_frame(const CapturedFrame& captured);

/// Everything, `list --json`'s line: the three below, one after the other.
void append_fields(FieldList& fields, const Dissection& dissection);

/// frame.*, eth.*, vlan.*, ip.*, ipv6.*, udp.*, infiniband.grh.*
void append_envelope_fields(FieldList& fields, const CapturedFrame& captured);
/// infiniband.bth.* to infiniband.ieth
void append_transport_fields(FieldList& fields, const roce::Frame& frame);
/// infiniband.mad.* and infiniband.cm.*; nothing where the frame has no MAD.
void append_mad_fields(FieldList& fields, const roce::Frame& frame);

/// The columns of `list --csv`: every name above but those of the connection manager's messages.
std::span<const std::string_view> csv_columns();

/// "ok", "bad", "unverifiable", "not_roce".
std::string_view name_of(roce::IcrcVerdict verdict) noexcept;

}  // namespace lw::dissect

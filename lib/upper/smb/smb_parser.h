// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "upper/parser.h"
#include "upper/smb/smb_direct.h"

namespace lw::upper::smb {

/// Reads a connection of SMB Direct: its credits, its fragments, and the commands of SMB2 in them.
class SmbParser final : public Parser {
 public:
  SmbParser(UpperFacts& facts, CommandTable& table) : facts_(facts), table_(table) {}
  void handle(const UpperMessage& message) override;

 private:
  /// What one side sends.
  struct Side {
    std::int64_t credits = 0;  // SENDs that it may still send
    bool credits_known = false;
    bool was_empty = false;       // it had none since its last SEND
    std::vector<Leg> legs;        // of the message whose fragments come
    std::vector<std::byte> data;  // its beginning
    bool cut = false;             // the capture cuts a fragment: its data end there
    bool damaged = false;         // a fragment is missing
    std::uint32_t expected = 0;   // remaining bytes after the last fragment
  };

  void handle_data(const UpperMessage& message, const DataTransfer& transfer);
  void note_credits(std::uint8_t sender, const DataTransfer& transfer);
  void handle_smb2(std::uint8_t direction, const Side& side);
  void handle_chain(std::uint8_t direction, const std::vector<Leg>& legs, Bytes bytes);
  void handle_request(std::uint8_t direction, const std::vector<Leg>& legs, const Header& header,
                      Bytes bytes);
  void handle_response(const std::vector<Leg>& legs, const Header& header);

  UpperFacts& facts_;
  CommandTable& table_;
  std::array<Side, 2> sides_;
};

}  // namespace lw::upper::smb

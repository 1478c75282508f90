// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "upper/command_table.h"

namespace lw::upper {

/// Reads the messages of one connection in one protocol. Any bytes are allowed. No clock, no I/O.
class Parser {
 public:
  Parser() = default;
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  virtual ~Parser() = default;
  /// The next message; its data live during the call.
  virtual void handle(const UpperMessage& message) = 0;
};

/// The parser of a protocol, for a connection with these facts and commands, which outlive it;
/// null: its commands are not read.
std::unique_ptr<Parser> parser_of(UpperProtocol protocol, UpperFacts& facts, CommandTable& table);

}  // namespace lw::upper

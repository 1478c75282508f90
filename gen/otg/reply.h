// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace lw::gen::otg {

/// Statuses of HTTP: what the client can correct, what it cannot, and what is not there.
inline constexpr int kBadRequest = 400, kInternal = 500, kNotSupported = 501;

/// The answer to a request: a status of HTTP, and JSON, or a file.
struct Answer {
  int status = 200;
  nlohmann::ordered_json body = nlohmann::ordered_json::object();
  std::string file = {};  // in place of `body`, if not empty
};

/// An Error of the model: kind "validation" for statuses below 500, else "internal".
Answer error_answer(int status, const std::vector<std::string>& errors);
/// As error_answer(): what the client can correct is 400, all else 500.
Answer error_answer(const Error& error);
/// A Warning of the model.
Answer warning_answer(const std::vector<std::string>& warnings);

/// As text between processes. read_answer() returns nothing for other text.
std::string to_text(const Answer& answer);
std::optional<Answer> read_answer(const std::string& text);

}  // namespace lw::gen::otg

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace lw::report {

/// The JSON text of lib/report/schemas/NAME.json ("send"); empty: there is none. Made by
/// lib/report/html/embed_schemas.py.
std::string_view schema_text(std::string_view name) noexcept;

}  // namespace lw::report

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/figure.h"
#include "core/quantity.h"
#include "report/json_line.h"

namespace lw::report {

/// Sets the struct of a table to a JSON object: the inverse of json_of(). Rows of computed values
/// are passed over, as are keys without a row. A row that an output may leave out may be missing;
/// its member stays as it is. Numbers are within the bounds of their row, lists have its length.
/// Error, the first one: "\"timeout\": expected a whole number from 0 to 31, found 32". The struct
/// is then set in part.
Parsed<void> read_json(const Json& json, const FigureTable& table, void* object);
template <class T>
Parsed<void> read_json(const Json& json, T& object) {
  return read_json(json, T::figures(), &object);
}

/// Returns a value for an error message, in ASCII, shortened if it is long.
std::string shown(const Json& value);

}  // namespace lw::report

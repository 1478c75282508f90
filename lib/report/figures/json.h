// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/figure.h"
#include "report/json_line.h"

namespace lw::report {

/// The figures of the struct of a table as a JSON object, in the order of the table.
Json json_of(const FigureTable& table, const void* object);
/// The value of one row, which is not empty.
Json json_of(const Figure& row, const void* object);
template <class T>
Json json_of(const T& object) {
  return json_of(T::figures(), &object);
}

/// A line of JSON that begins with the output's "schema" and "version". T is the struct of its
/// table.
template <class T>
std::string json_line(const JsonOutput& output, const T& object) {
  return json_line(output, json_of(output.figures(), &object));
}

}  // namespace lw::report

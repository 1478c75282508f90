// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/toml/table.h"
#include "core/figure.h"

namespace lw::config {

/// Sets the settings of `object`, the struct of `rows`, from the keys of a table, which have the
/// rows' names, without the unit of times and rates (key_of_setting()): values, tables of structs,
/// and lists of tables. Rows without bounds are no settings; absent keys leave their members as
/// they are. Errors are recorded with their position; the caller calls Table::finish(), which
/// refuses other keys.
void read_settings(const Table& table, const FigureTable& rows, void* object);
template <class T>
void read_settings(const Table& table, T& object) {
  read_settings(table, T::figures(), &object);
}

}  // namespace lw::config

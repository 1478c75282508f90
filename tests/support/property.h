// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// rapidcheck's header requires that GoogleTest is included before it, against alphabetical order.
// clang-format off
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
// clang-format on

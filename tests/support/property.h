// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// rapidcheck's header needs GoogleTest's before it, against the alphabet.
// clang-format off
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
// clang-format on

// SPDX-License-Identifier: BSD-3-Clause
#include "core/input.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw {
namespace input_test {

using testing::HasSubstr;

class Input : public testing::Test {
 protected:
  Input() { folder_ = mkdtemp(folder_.data()); }
  ~Input() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) const {
    std::ofstream(folder_ + "/file", std::ios::binary) << text;
    return folder_ + "/file";
  }

  std::string folder_ = "/tmp/longwire-XXXXXX";
};

TEST_F(Input, FilesUpToTheLimitAreRead) {
  for (const std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 10'000u})
    EXPECT_EQ(read_input_file(write(std::string(size, 'x')), 10'000)->size(), size);
  const auto longer = read_input_file(write(std::string(10'001, 'x')), 10'000);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().exit, ExitCode::usage);
  EXPECT_THAT(longer.error().message, HasSubstr("at most 10000 bytes"));
}

TEST_F(Input, WhatIsNoFileIsRefused) {
  EXPECT_THAT(read_input_file("/dev/zero", 1000).error().message, HasSubstr("at most 1000 bytes"));
  EXPECT_EQ(read_input_file(folder_, 1000).error().exit, ExitCode::environment);
  EXPECT_EQ(read_input_file(folder_ + "/none", 1000).error().exit, ExitCode::environment);
  EXPECT_FALSE(read_input_file(write("x") + std::string(1, '\0'), 1000));
  EXPECT_FALSE(read_first_line("/dev/zero", 1, 100));
  EXPECT_FALSE(read_first_line(folder_, 1, 100));
  EXPECT_THAT(read_input_file(folder_, 100).error().message, HasSubstr("it is a folder"));
}

TEST_F(Input, APipeWithoutAWriterIsEmpty) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_input_file(pipe, 100).value(), "");
}

TEST_F(Input, ALineIsReadWithoutItsEnd) {
  for (const char* text : {"token", "token\n", "token\r\n", "token\nmore\n", "token\r\nmore"})
    EXPECT_EQ(read_first_line(write(text), 1, 100).value(), "token") << text;
  EXPECT_EQ(read_first_line(write(std::string(100, 'x') + "\r\nmore"), 1, 100)->size(), 100U);
  for (const std::string& text : {std::string(), std::string("\n"), std::string(101, 'x'),
                                  std::string(1000, 'x'), std::string("a\tb"), std::string("\xc3")})
    EXPECT_FALSE(read_first_line(write(text), 1, 100)) << text;
}

}  // namespace input_test
}  // namespace lw

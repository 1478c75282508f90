// SPDX-License-Identifier: BSD-3-Clause
#include "core/quantity.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/limits.h"
#include "core/names.h"

namespace lw {
namespace {

using namespace std::chrono_literals;

TEST(Durations, AreReadInEveryUnit) {
  EXPECT_EQ(parse_duration("1903.5us"), 1903500ns);
  EXPECT_EQ(parse_duration("1.9 ms"), 1900us);
  EXPECT_EQ(parse_duration("0s"), 0ns);
  EXPECT_EQ(parse_duration("2min"), 120s);
  EXPECT_EQ(parse_duration("7ns"), 7ns);
}

TEST(Durations, RefuseWhatIsNone) {
  for (const char* wrong :
       {"", "ms", "5", "-1ms", "1 parsec", "1e30s", "nan s", "inf s", "1ms 2"}) {
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
  }
}

TEST(BitRates, AreDecimal) {
  EXPECT_EQ(parse_bit_rate("100Gb/s"), 100e9);
  EXPECT_EQ(parse_bit_rate("2.5 Mbit/s"), 2.5e6);
  EXPECT_EQ(parse_bit_rate("400G"), 400e9);
  EXPECT_EQ(parse_bit_rate("9600bps"), 9600.0);
  EXPECT_EQ(parse_bit_rate("100Gbit"), 100e9);
  EXPECT_EQ(parse_bit_rate("64 kbit"), 64e3);
  for (const char* wrong : {"0Gb/s", "-1Gb/s", "100", "100GB/s", "fast"}) {
    EXPECT_FALSE(parse_bit_rate(wrong)) << wrong;
  }
}

TEST(Sizes, KnowBinaryFromDecimal) {
  EXPECT_EQ(parse_bytes("64KiB"), 65536u);
  EXPECT_EQ(parse_bytes("64kB"), 64000u);
  for (const char* decimal : {"64KB", "64kB", "64 KB"})
    EXPECT_EQ(parse_bytes(decimal), 64000u) << decimal;
  EXPECT_EQ(parse_bytes("1MB"), 1'000'000u);
  EXPECT_EQ(parse_bytes("1GiB"), 1u << 30);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("256MiB"), 268435456u);
  for (const char* wrong : {"-1", "1.5", "1.5B", "1e300", "64 Kb", "many"}) {
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
  }
}

TEST(Sizes, WithABarePrefixMayMeanEither) {
  EXPECT_EQ(parse_bytes("64K").error(), "64K: write 64kB or 64KiB");
  EXPECT_EQ(parse_bytes("2 M").error(), "2 M: write 2MB or 2MiB");
  for (const char* bare : {"64k", "1G", "0K", "1.5M"}) EXPECT_FALSE(parse_bytes(bare)) << bare;
  // -s of perftest, whose habit is copied.
  EXPECT_EQ(parse_message_size("64K"), 65536u);
  EXPECT_EQ(parse_message_size("2M"), 2u << 20);
  EXPECT_EQ(parse_message_size("1G"), 1u << 30);
  EXPECT_EQ(parse_message_size("64KB"), 64000u);
  EXPECT_EQ(parse_message_size("4096"), 4096u);
  EXPECT_FALSE(parse_message_size("64T"));
}

TEST(Lengths, AreKilometres) {
  EXPECT_EQ(parse_kilometres("380km"), 380.0);
  EXPECT_EQ(parse_kilometres("500 m"), 0.5);
  EXPECT_FALSE(parse_kilometres("-1km"));
  EXPECT_FALSE(parse_kilometres("380"));
}

TEST(Probabilities, ArePercentOrHaveAnExponent) {
  EXPECT_DOUBLE_EQ(*parse_probability("0.1%"), 0.001);
  EXPECT_DOUBLE_EQ(*parse_probability("1E-3"), 0.001);
  EXPECT_DOUBLE_EQ(*parse_probability("1e0"), 1);
  EXPECT_EQ(parse_probability("0"), 0.0);
  EXPECT_EQ(parse_probability("0.0"), 0.0);
  EXPECT_DOUBLE_EQ(*parse_probability("1e-9"), 1e-9);
  EXPECT_EQ(parse_probability("100%"), 1.0);
  for (const char* wrong : {"101%", "-0.1", "1.5", "1e1", "half", ""}) {
    EXPECT_FALSE(parse_probability(wrong)) << wrong;
  }
}

TEST(Probabilities, RefuseAPlainNumberThatMayMeanEither) {
  EXPECT_EQ(parse_probability("0.1").error(), "0.1: write 0.1% or 10%");
  EXPECT_EQ(parse_probability("0.001").error(), "0.001: write 0.001% or 0.1%");
  EXPECT_EQ(parse_probability("1").error(), "1: write 1% or 100%");
  EXPECT_EQ(parse_probability(".25").error(), ".25: write 0.25% or 25%");
  EXPECT_EQ(parse_probability("5").error(), "5: write 5%");
}

TEST(Quantities, ErrorsSayWhatWasExpectedAndFound) {
  EXPECT_EQ(parse_duration("soon").error(),
            "expected a time such as \"1.9ms\" (ns, us, ms, s, min), found \"soon\"");
}

TEST(Quantities, AreWrittenForPeople) {
  EXPECT_EQ(format_duration(1903510ns), "1.904 ms");
  EXPECT_EQ(format_set_duration(1903500ns), "1.9035 ms");
  EXPECT_EQ(format_duration(0ns), "0 ns");
  EXPECT_EQ(format_duration(999ns), "999 ns");
  EXPECT_EQ(format_bit_rate(98.04e9), "98.04 Gb/s");
  EXPECT_EQ(format_bytes(23.75e6), "23.75 MB");
  EXPECT_EQ(format_bytes(512), "512 B");
}

TEST(Quantities, HaveOneSetOfUnits) {
  EXPECT_EQ(format_duration(1500ns), "1.5 us");
  EXPECT_EQ(format_duration(90s), "90 s");
  EXPECT_EQ(format_duration(48'879'666ns), "48.88 ms");
  EXPECT_EQ(format_duration(37'507'300'000ns), "37.51 s");
  EXPECT_EQ(format_duration(999'960ns), "1 ms");
  EXPECT_EQ(format_duration(-1903510ns), "-1.904 ms");
  EXPECT_EQ(format_bit_rate(999), "999.0 b/s");
  EXPECT_EQ(format_bit_rate(1000), "1.00 kb/s");
  EXPECT_EQ(format_bit_rate(25e6), "25.00 Mb/s");
  EXPECT_EQ(format_bit_rate(1.6e12), "1.60 Tb/s");
  EXPECT_EQ(format_bit_rate(948.04e6), "948.0 Mb/s");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");  // decimal, as the unit says
  EXPECT_EQ(format_bytes(1024), "1.02 kB");
  EXPECT_EQ(format_bytes(65536), "65.54 kB");
  EXPECT_EQ(format_bytes(3e9), "3.00 GB");
}

TEST(Quantities, CountsAndSharesAreShort) {
  EXPECT_EQ(format_count(464'560), "464,560");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(2'262'440), "2,262,440");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_share(0.4539), "45.4 %");
  EXPECT_EQ(format_share(std::uint64_t{464'560}, std::uint64_t{1'023'477}), "45.4 %");
  EXPECT_EQ(format_share(std::uint64_t{1}, std::uint64_t{0}), "0 %");
  EXPECT_EQ(format_share(0), "0 %");
  EXPECT_EQ(format_share(1), "100 %");
  // No share rounds to all or to nothing.
  EXPECT_EQ(format_share(0.9999999), "99.99999 %");
  EXPECT_EQ(format_share(0.99996), "99.996 %");
  EXPECT_EQ(format_share(0.9994), "99.94 %");
  EXPECT_NE(format_share(1e-12), "0 %");
  EXPECT_EQ(format_number(2262440), "2,262,440");
  EXPECT_EQ(format_number(1.23456), "1.235");
  EXPECT_EQ(format_number(std::numeric_limits<double>::quiet_NaN()), "none");
}

TEST(Quantities, AreReadAsTheyAreWritten) {
  for (const Duration time : {Duration(1ns), Duration(1500ns), Duration(1903500ns), Duration(3s)}) {
    EXPECT_EQ(parse_duration(format_set_duration(time)), time);
  }
  for (const double rate : {1.0, 1e3, 25e6, 98.04e9, 1.6e12}) {
    EXPECT_DOUBLE_EQ(*parse_bit_rate(format_bit_rate(rate)), rate);
  }
  for (const double bytes : {512.0, 1e3, 23.75e6, 3e9}) {
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), static_cast<std::uint64_t>(bytes));
  }
}

TEST(Quantities, HaveALargestValue) {
  EXPECT_EQ(parse_duration("525600min"), kLongestTime);
  EXPECT_EQ(parse_bit_rate("1000Tb/s"), 1e15);
  EXPECT_EQ(parse_bytes("1048576GiB"), kLargestSize);
  EXPECT_EQ(parse_kilometres("1000000km"), 1e6);
  EXPECT_EQ(parse_duration("9000000000s").error(),
            "expected a time from 0 to 31536000 s, found \"9000000000s\"");
  EXPECT_EQ(parse_bit_rate("1001Tb/s").error(),
            "expected a bit rate from 1.00 b/s to 1000.0 Tb/s, found \"1001Tb/s\"");
  EXPECT_EQ(parse_bytes("1048577GiB").error(),
            "expected a whole number of bytes from 0 to 1048576 GiB, found \"1048577GiB\"");
  EXPECT_EQ(parse_kilometres("1000001km").error(),
            "expected a length from 0 to 1000000 km, found \"1000001km\"");
  for (const char* extreme : {"1e308", "1e-308", "-1e308", "9223372036854775808"})
    for (const char* unit : {"min", "ns", "Tb/s", "b/s", "GiB", "B", "km", "m"}) {
      const std::string text = std::string(extreme) + unit;
      EXPECT_LE(parse_duration(text).value_or(Duration{}), kLongestTime);
      EXPECT_LE(parse_bit_rate(text).value_or(1), 1e15);
      EXPECT_GE(parse_bit_rate(text).value_or(1), 1);
      EXPECT_LE(parse_bytes(text).value_or(0), kLargestSize);
      EXPECT_LE(parse_kilometres(text).value_or(0), 1e6);
    }
}

TEST(Quantities, ErrorsRepeatTheStartOfAText) {
  const std::string error = parse_bytes(std::string(1'000'000, 'x')).error();
  EXPECT_LT(error.size(), 200u);
  EXPECT_EQ(excerpt(std::string(79, 'x') + "ä"), std::string(79, 'x') + "...");
  EXPECT_EQ(excerpt("a\x1b[2J\n"), "a?[2J?");
}

// Found by the fuzzer: more digits than anybody's link has.
TEST(Quantities, ImpossiblyLargeOnesAreWrittenWhole) {
  EXPECT_EQ(format_bit_rate(1e300).size(), 289u + 2 + 5);  // 1e288: 289 digits, ".0", " Tb/s"
}

}  // namespace
}  // namespace lw

// SPDX-License-Identifier: BSD-3-Clause
#include "report/prometheus.h"

#include <gtest/gtest.h>

namespace lw::report {
namespace {

// The lines of Prometheus' own documentation of its text format, where it speaks of escaping.
TEST(Prometheus, WritesItsTextFormat) {
  Prometheus out;
  out.family("msdos_file_access_time_seconds", Prometheus::Type::gauge, "Time.");
  out.sample({{"path", "C:\\DIR\\FILE.TXT"}, {"error", "Cannot find file:\n\"FILE.TXT\""}}, 1.5);
  out.family("http_requests_total", Prometheus::Type::counter, "The total.");
  out.sample({{"method", "post"}, {"code", "200"}}, std::uint64_t{1027});
  out.sample({}, std::uint64_t{18'446'744'073'709'551'615U});
  EXPECT_EQ(out.text(),
            "# HELP msdos_file_access_time_seconds Time.\n"
            "# TYPE msdos_file_access_time_seconds gauge\n"
            "msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find "
            "file:\\n\\\"FILE.TXT\\\"\"} 1.5\n"
            "# HELP http_requests_total The total.\n"
            "# TYPE http_requests_total counter\n"
            "http_requests_total{method=\"post\",code=\"200\"} 1027\n"
            "http_requests_total 18446744073709551615\n");
}

}  // namespace
}  // namespace lw::report

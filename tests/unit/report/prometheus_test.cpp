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

// The example of a histogram in the same place.
TEST(Prometheus, WritesAHistogram) {
  Prometheus out;
  out.family("http_request_duration_seconds", Prometheus::Type::histogram, "A histogram.");
  const Prometheus::Bucket buckets[] = {{0.05, 24054}, {0.1, 33444}, {0.5, 129389}, {1, 133988}};
  out.histogram({{"job", "a"}}, buckets, 144320, 53423);
  EXPECT_EQ(out.text(),
            "# HELP http_request_duration_seconds A histogram.\n"
            "# TYPE http_request_duration_seconds histogram\n"
            "http_request_duration_seconds_bucket{job=\"a\",le=\"0.05\"} 24054\n"
            "http_request_duration_seconds_bucket{job=\"a\",le=\"0.1\"} 33444\n"
            "http_request_duration_seconds_bucket{job=\"a\",le=\"0.5\"} 129389\n"
            "http_request_duration_seconds_bucket{job=\"a\",le=\"1\"} 133988\n"
            "http_request_duration_seconds_bucket{job=\"a\",le=\"+Inf\"} 144320\n"
            "http_request_duration_seconds_sum{job=\"a\"} 53423\n"
            "http_request_duration_seconds_count{job=\"a\"} 144320\n");
}

}  // namespace
}  // namespace lw::report

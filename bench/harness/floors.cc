// SPDX-License-Identifier: Apache-2.0
// Physical floors for the benchmark: how fast this machine can do the unavoidable part of a workload.
//
//   floors KIND [--threads N] [--min-seconds S] [--rows N] [--record BYTES] FILE...
//
// KIND pread    read every file in 1 MiB blocks into one reused buffer
//      mmap     map every file, touch one word per cache line
//      crc      pread 256 KiB blocks + CRC32C of each block while it is in cache
//      memcpy   copy as many bytes as the files hold from a resident buffer into a resident buffer
//      inflate  decompress every gzip file into a reused 256 KiB window (ISA-L) or a whole buffer (zlib)
//      jpeg     decode every JPEG found in the TFRecord files to RGB in a reused buffer
//      gather   copy --rows records of --record bytes in random order from memory into a reused batch of 256
//      window   copy --rows windows of --record bytes, half-overlapping, from memory into a reused batch of 128
//
// Prints one JSON line: seconds per pass (best of all passes after one warm-up), bytes per pass.
// Optional libraries: -DHAVE_ISAL (-lisal), -DHAVE_ZLIB (-lz), -DHAVE_JPEG (-ljpeg).
#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#elif defined(HAVE_ZLIB)
#include <zlib.h>
#endif
#ifdef HAVE_JPEG
#include <jpeglib.h>
#endif

namespace {

std::atomic<uint64_t> sink{0};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "floors: %s\n", what.c_str());
  std::exit(2);
}

struct File {
  explicit File(const std::string& path) : fd(::open(path.c_str(), O_RDONLY)) {
    if (fd < 0) die("cannot open " + path);
    struct stat st {};
    ::fstat(fd, &st);
    size = static_cast<size_t>(st.st_size);
  }
  ~File() { ::close(fd); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd;
  size_t size = 0;
};

template <class F>
void blocks(const std::string& path, std::vector<uint8_t>& buf, size_t block, F&& use) {
  File f(path);
  buf.resize(block);
  for (size_t at = 0; at < f.size;) {
    const ssize_t n = ::pread(f.fd, buf.data(), block, static_cast<off_t>(at));
    if (n <= 0) die("short read of " + path);
    use(buf.data(), static_cast<size_t>(n));
    at += static_cast<size_t>(n);
  }
}

std::vector<uint8_t> slurp(const std::string& path) {
  File f(path);
  std::vector<uint8_t> out(f.size);
  for (size_t at = 0; at < f.size;) {
    const ssize_t n = ::pread(f.fd, out.data() + at, f.size - at, static_cast<off_t>(at));
    if (n <= 0) die("short read of " + path);
    at += static_cast<size_t>(n);
  }
  return out;
}

uint32_t crc32c(const uint8_t* p, size_t n) {
#ifdef HAVE_ISAL
  return ~crc32_iscsi(const_cast<uint8_t*>(p), static_cast<int>(n), ~0u);
#else
  uint64_t c = ~0u;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t v;
    std::memcpy(&v, p, 8);
    c = _mm_crc32_u64(c, v);
  }
  for (; n; --n) c = _mm_crc32_u8(static_cast<uint32_t>(c), *p++);
  return ~static_cast<uint32_t>(c);
#endif
}

size_t inflate_file(const std::string& path, std::vector<uint8_t>& in, std::vector<uint8_t>& out) {
  size_t total = 0;
  out.resize(256 << 10);
#ifdef HAVE_ISAL
  auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  blocks(path, in, 256 << 10, [&](uint8_t* p, size_t n) {
    state->next_in = p;
    state->avail_in = static_cast<uint32_t>(n);
    do {
      state->next_out = out.data();
      state->avail_out = static_cast<uint32_t>(out.size());
      if (isal_inflate(state.get()) != ISAL_DECOMP_OK) die("inflate failed");
      total += out.size() - state->avail_out;
    } while (state->avail_in || state->avail_out == 0);
  });
#elif defined(HAVE_ZLIB)
  z_stream z{};
  inflateInit2(&z, 31);
  blocks(path, in, 256 << 10, [&](uint8_t* p, size_t n) {
    z.next_in = p;
    z.avail_in = static_cast<uInt>(n);
    do {
      z.next_out = out.data();
      z.avail_out = static_cast<uInt>(out.size());
      inflate(&z, Z_NO_FLUSH);
      total += out.size() - z.avail_out;
    } while (z.avail_in || z.avail_out == 0);
  });
  inflateEnd(&z);
#else
  (void)path, (void)in;
  die("built without an inflate library");
#endif
  return total;
}

#ifdef HAVE_JPEG
void decode_jpeg(jpeg_decompress_struct& reader, const uint8_t* data, size_t size, std::vector<uint8_t>& out) {
  jpeg_mem_src(&reader, data, size);
  jpeg_read_header(&reader, TRUE);
  reader.out_color_space = JCS_RGB;
  reader.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&reader);
  const size_t row = size_t{reader.output_width} * 3;
  out.resize(row * reader.output_height);
  while (reader.output_scanline < reader.output_height) {
    JSAMPROW at = &out[row * reader.output_scanline];
    jpeg_read_scanlines(&reader, &at, 1);
  }
  jpeg_finish_decompress(&reader);
}
#endif

void jpeg_file(const std::string& path, std::vector<uint8_t>& out) {
#ifdef HAVE_JPEG
  const auto data = slurp(path);
  jpeg_decompress_struct reader{};
  jpeg_error_mgr errors{};
  reader.err = jpeg_std_error(&errors);  // ends the program with a message
  jpeg_create_decompress(&reader);
  for (size_t at = 0; at + 16 <= data.size();) {
    uint64_t n;
    std::memcpy(&n, &data[at], 8);
    const uint8_t* rec = &data[at + 12];
    const uint8_t soi[3] = {0xff, 0xd8, 0xff};
    const auto* p = static_cast<const uint8_t*>(::memmem(rec, n, soi, 3));
    if (!p) die("no JPEG in a record of " + path);
    decode_jpeg(reader, p, static_cast<size_t>(rec + n - p), out);
    sink += out[out.size() / 2];
    at += 16 + n;
  }
  jpeg_destroy_decompress(&reader);
#else
  (void)path, (void)out;
  die("built without libjpeg");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) die("usage: floors KIND [options] FILE...");
  const std::string kind = argv[1];
  size_t threads = 1, rows = 0, record = 0;
  double min_seconds = 0.3;
  std::vector<std::string> files;
  for (int i = 2; i < argc; ++i) {
    const std::string a = argv[i];
    auto value = [&] { return i + 1 < argc ? argv[++i] : (die("missing value"), argv[i]); };
    if (a == "--threads")
      threads = std::stoul(value());
    else if (a == "--min-seconds")
      min_seconds = std::stod(value());
    else if (a == "--rows")
      rows = std::stoul(value());
    else if (a == "--record")
      record = std::stoul(value());
    else
      files.push_back(a);
  }
  size_t bytes = 0;
  for (const auto& f : files) bytes += File(f).size;

  std::vector<uint8_t> source, target;
  std::vector<size_t> order;
  if (kind == "memcpy") source.assign(64 << 20, 1), target.assign(64 << 20, 2);
  if (kind == "gather" || kind == "window") {
    const size_t step = kind == "gather" ? record : record / 2;
    source.assign(rows * step + record, 1);
    order.resize(rows);
    std::iota(order.begin(), order.end(), size_t{0});
    if (kind == "gather") std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    for (auto& o : order) o *= step;
    bytes = rows * record;
  }

  auto worker = [&](size_t id, std::atomic<size_t>& next) {
    std::vector<uint8_t> buf, out;
    if (kind == "memcpy") {
      const size_t share = target.size() / threads;
      for (size_t done = 0; done < bytes / threads; done += share)
        std::memcpy(&target[id * share], &source[id * share], std::min(share, bytes / threads - done));
      return;
    }
    if (kind == "gather" || kind == "window") {
      const size_t batch = kind == "gather" ? 256 : 128;
      buf.resize(batch * record);
      for (size_t b; (b = next++) * batch < rows;)
        for (size_t i = b * batch; i < std::min(rows, (b + 1) * batch); ++i)
          std::memcpy(&buf[(i % batch) * record], &source[order[i]], record);
      sink += buf[0];
      return;
    }
    for (size_t i; (i = next++) < files.size();) {
      if (kind == "pread") {
        blocks(files[i], buf, 1 << 20, [&](uint8_t* p, size_t n) { sink += p[n / 2]; });
      } else if (kind == "crc") {
        blocks(files[i], buf, 256 << 10, [&](uint8_t* p, size_t n) { sink += crc32c(p, n); });
      } else if (kind == "mmap") {
        File f(files[i]);
        auto* p = static_cast<uint8_t*>(::mmap(nullptr, f.size, PROT_READ, MAP_PRIVATE, f.fd, 0));
        if (p == MAP_FAILED) die("mmap failed");
        ::madvise(p, f.size, MADV_SEQUENTIAL);
        uint64_t s = 0;
        for (size_t at = 0; at < f.size; at += 64) s += p[at];
        sink += s;
        ::munmap(p, f.size);
      } else if (kind == "inflate") {
        sink += inflate_file(files[i], buf, out);
      } else if (kind == "jpeg") {
        jpeg_file(files[i], out);
      } else {
        die("unknown kind " + kind);
      }
    }
  };

  double best = 1e30, total = 0;
  int passes = 0;
  for (bool warm = true; warm || total < min_seconds || passes < 2; warm = false) {
    std::atomic<size_t> next{0};
    const auto t0 = std::chrono::steady_clock::now();
    std::vector<std::thread> pool;
    for (size_t t = 1; t < threads; ++t) pool.emplace_back(worker, t, std::ref(next));
    worker(0, next);
    for (auto& t : pool) t.join();
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    if (warm) continue;
    best = std::min(best, s);
    total += s;
    ++passes;
  }
  std::printf(
      "{\"floor\": \"%s\", \"threads\": %zu, \"bytes\": %zu, \"seconds\": %.6f, \"gb_per_s\": %.3f, \"passes\": %d}\n",
      kind.c_str(), threads, bytes, best, static_cast<double>(bytes) / best / 1e9, passes);
}

// SPDX-License-Identifier: Apache-2.0
#include <forebay/queued_files.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace forebay {

namespace {

Error closed() { return {Code::cancelled, "the program ends"}; }

}  // namespace

FileJob::~FileJob() {
  if (what_) fail({Code::internal, "a request for a file was dropped without an answer"});
}

bool FileJob::wanted() const {
  const ReadRequest* const request = read();
  return request == nullptr || !request->wanted.expired();
}

const ReadRequest* FileJob::read() const {
  const auto* const found = what_ ? std::get_if<Read>(what_.get()) : nullptr;
  return found == nullptr ? nullptr : &found->request;
}

const FileJob::List* FileJob::list() const { return what_ ? std::get_if<List>(what_.get()) : nullptr; }

bool FileJob::is_find() const { return what_ && std::holds_alternative<Find>(*what_); }

void FileJob::found(FileVersion version) {
  if (!is_find()) return;
  const auto what = std::move(what_);
  std::get<Find>(*what).answer(version);
}

void FileJob::read_bytes(std::size_t count) {
  if (read() == nullptr) return;
  const auto what = std::move(what_);
  std::get<Read>(*what).answer(count);
}

void FileJob::listed(std::vector<ListedFile> files) {
  if (list() == nullptr) return;
  const auto what = std::move(what_);
  std::get<List>(*what).answer(std::move(files));
}

void FileJob::fail(const Error& error) {
  const auto what = std::move(what_);
  if (what) std::visit([&](const auto& kind) { kind.answer(error); }, *what);
}

namespace queues {

class FileQueue final : public FileSystem {
 public:
  explicit FileQueue(bool lists) : lists_{lists} {}

  void find(const std::string& path, Found found) override { enter({path, FileJob::Find{std::move(found)}}); }
  void read(ReadRequest request, Answer answer) override {
    std::string path = request.path;
    enter({std::move(path), FileJob::Read{std::move(request), std::move(answer)}});
  }
  [[nodiscard]] bool lists() const override { return lists_; }
  void list(const std::string& folder, bool deep, Listed listed) override {
    enter({folder, FileJob::List{deep, std::move(listed)}});
  }

  std::optional<FileJob> take() {
    std::unique_lock lock{mutex_};
    ++idle_;
    while (true) {
      changed_.wait(lock, [&] { return closed_ || !jobs_.empty(); });
      if (jobs_.empty()) return std::nullopt;
      FileJob job = std::move(jobs_.front());
      jobs_.pop_front();
      if (job.wanted()) {
        --idle_;
        return job;
      }
      lock.unlock();
      job.fail(closed());
      lock.lock();
    }
  }
  [[nodiscard]] bool needs_thread() {
    const std::lock_guard lock{mutex_};
    return std::ssize(jobs_) >= idle_;
  }
  void close() {
    std::deque<FileJob> left;
    {
      const std::lock_guard lock{mutex_};
      closed_ = true;
      left = std::exchange(jobs_, {});
    }
    changed_.notify_all();
    for (FileJob& job : left) job.fail(closed());
  }

 private:
  void enter(FileJob job) {
    {
      const std::lock_guard lock{mutex_};
      if (!closed_) {
        jobs_.push_back(std::move(job));
        changed_.notify_one();
        return;
      }
    }
    job.fail(closed());
  }

  const bool lists_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FileJob> jobs_;
  std::int64_t idle_ = 0;  // threads inside `take`
  bool closed_ = false;
};

}  // namespace queues

QueuedFiles::QueuedFiles(bool lists) : queue_{std::make_shared<queues::FileQueue>(lists)} {}

std::shared_ptr<FileSystem> QueuedFiles::system() const { return queue_; }

std::optional<FileJob> QueuedFiles::take() const { return queue_->take(); }

bool QueuedFiles::needs_thread() const { return queue_->needs_thread(); }

void QueuedFiles::close() const { queue_->close(); }

}  // namespace forebay

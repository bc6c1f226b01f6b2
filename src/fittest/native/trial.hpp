// What a trial is to the outside: one network, its data and its optimiser, in one precision.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace fittest {

struct Spec {
  int p = 0, d = 0, width = 0;
  bool relu = false, frozen = false, naive = false;
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  std::vector<std::int32_t> train, test;  // pairs a·p + b, increasing
  std::vector<std::int32_t> label;        // of every pair
};

struct Scores {
  double loss = 0, accuracy = 0;  // means over pairs
};

// The seven arrays in the order of fittest.training.Parameters, without padding.
template <class T>
using Arrays = std::vector<std::vector<T>>;

template <class T>
class Trial {
 public:
  virtual ~Trial() = default;
  virtual void set(int which, const Arrays<T>& arrays) = 0;  // 0 parameters, 1 and 2 moments
  virtual Arrays<T> get(int which) const = 0;                // 3 gradients
  virtual Scores gradient(bool scores) = 0;  // of the current parameters; scores if asked
  virtual void update() = 0;                                 // one AdamW step by that gradient
  virtual Scores test() = 0;
  // ‖F_k‖ for k = 0 … ⌊p/2⌋ of the embedding (0) or its gradient (3)
  virtual std::vector<double> bin_norms(int which) = 0;
  virtual double norm() = 0;  // Euclidean norm of all parameters
  std::int64_t step = 0;  // updates done
};

template <class T>
using Maker = std::unique_ptr<Trial<T>> (*)(const Spec&);

}  // namespace fittest

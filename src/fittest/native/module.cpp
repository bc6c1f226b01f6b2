// Python's view of a trial, and the choice of the instruction set.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <string>

#include "trial.hpp"

namespace py = pybind11;

namespace fittest {

#define FITTEST_LEVEL(NAME)                                   \
  namespace NAME {                                            \
  std::unique_ptr<Trial<float>> make_float(const Spec&);      \
  std::unique_ptr<Trial<double>> make_double(const Spec&);    \
  }
FITTEST_LEVEL(baseline)
FITTEST_LEVEL(avx2)
FITTEST_LEVEL(avx512)

// The levels this processor can run, best first.
std::vector<std::string> levels() {
  std::vector<std::string> out;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    out.push_back("avx512");
  if (avx2) out.push_back("avx2");
#endif
  out.push_back("baseline");
  return out;
}

template <class T>
Maker<T> maker(const std::string& level) {
  const auto known = levels();
  if (std::find(known.begin(), known.end(), level) == known.end())
    throw std::invalid_argument("this processor cannot run level '" + level + "'");
  constexpr bool single = std::is_same_v<T, float>;
#if defined(__x86_64__)
  if constexpr (single) {
    if (level == "avx512") return avx512::make_float;
    if (level == "avx2") return avx2::make_float;
  } else {
    if (level == "avx512") return avx512::make_double;
    if (level == "avx2") return avx2::make_double;
  }
#endif
  if constexpr (single) return baseline::make_float;
  else return baseline::make_double;
}

template <class T>
using In = py::array_t<T, py::array::c_style | py::array::forcecast>;
using Pairs = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

void check(int which, int last) {
  if (which < 0 || which > last)
    throw std::invalid_argument("which must be from 0 to " + std::to_string(last));
}

std::vector<std::int32_t> copied(const Pairs& pairs) {
  return {pairs.data(), pairs.data() + pairs.size()};
}

template <class T>
void bind(py::module_& m, const char* name) {
  using Released = py::call_guard<py::gil_scoped_release>;
  py::class_<Trial<T>>(m, name, "One network, its data and its optimiser.")
      .def(py::init([](const std::string& level, int p, int d, int width, bool relu, bool frozen,
                       bool naive, double lr, double beta1, double beta2, double eps,
                       double weight_decay, const Pairs& train, const Pairs& test,
                       const Pairs& label) {
             Spec s;
             s.p = p, s.d = d, s.width = width, s.relu = relu, s.frozen = frozen, s.naive = naive;
             s.lr = lr, s.beta1 = beta1, s.beta2 = beta2, s.eps = eps;
             s.weight_decay = weight_decay;
             s.train = copied(train), s.test = copied(test), s.label = copied(label);
             for (const auto* pairs : {&s.train, &s.test})
               for (const auto pair : *pairs)
                 if (pair < 0 || pair >= p * p) throw std::invalid_argument("pair out of range");
             if (s.label.size() != std::size_t(p) * p) throw std::invalid_argument("p² labels");
             for (const auto c : s.label)
               if (c < 0 || c >= p) throw std::invalid_argument("label out of range");
             return maker<T>(level)(s);
           }),
           py::kw_only(), py::arg("level"), py::arg("p"), py::arg("d"), py::arg("width"),
           py::arg("relu"), py::arg("frozen"), py::arg("naive"), py::arg("lr"), py::arg("beta1"),
           py::arg("beta2"), py::arg("eps"), py::arg("weight_decay"), py::arg("train"),
           py::arg("test"), py::arg("label"))
      .def_readwrite("step", &Trial<T>::step, "Updates done.")
      .def("set",
           [](Trial<T>& trial, int which, const std::vector<In<T>>& arrays) {
             check(which, 2);
             const auto shapes = trial.get(which);
             if (arrays.size() != shapes.size()) throw std::invalid_argument("seven arrays");
             Arrays<T> in;
             for (std::size_t i = 0; i < arrays.size(); ++i) {
               if (std::size_t(arrays[i].size()) != shapes[i].size())
                 throw std::invalid_argument("an array has the wrong size");
               in.emplace_back(arrays[i].data(), arrays[i].data() + arrays[i].size());
             }
             trial.set(which, in);
           },
           "Set the parameters (0) or a moment (1, 2): seven arrays.")
      .def("get",
           [](const Trial<T>& trial, int which) {
             check(which, 3);
             py::list out;
             for (const auto& array : trial.get(which))
               out.append(py::array_t<T>(py::ssize_t(array.size()), array.data()));
             return out;
           },
           "Return parameters (0), moments (1, 2) or gradients (3): seven flat arrays.")
      .def("gradient",
           [](Trial<T>& trial, bool scores) {
             Scores s;
             {
               py::gil_scoped_release release;
               s = trial.gradient(scores);
             }
             return py::make_tuple(s.loss, s.accuracy);
           },
           py::arg("scores") = true,
           "Compute the gradient at the current parameters; return training loss and accuracy.")
      .def("test",
           [](Trial<T>& trial) {
             Scores s;
             {
               py::gil_scoped_release release;
               s = trial.test();
             }
             return py::make_tuple(s.loss, s.accuracy);
           },
           "Return test loss and accuracy at the current parameters.")
      .def("bin_norms",
           [](Trial<T>& trial, int which) {
             check(which, 3);
             const auto norms = trial.bin_norms(which);
             return py::array_t<double>(py::ssize_t(norms.size()), norms.data());
           },
           "Return the norm of every DFT bin, 0 to p/2, of the embedding (0) or its gradient (3).")
      .def("norm", &Trial<T>::norm, "Return the Euclidean norm of all parameters.")
      .def("update", &Trial<T>::update, Released(), "Do one AdamW step by the last gradient.")
      .def("advance",
           [](Trial<T>& trial, int steps) {
             for (int i = 0; i < steps; ++i) {
               trial.gradient(false);
               trial.update();
             }
           },
           Released(), "Do several steps without looking.");
}

}  // namespace fittest

PYBIND11_MODULE(_native, m) {
  m.doc() = "The native training engine: one network at a time, on one thread.";
  m.def("levels", &fittest::levels, "Instruction sets this processor can run, best first.");
  fittest::bind<float>(m, "Trial32");
  fittest::bind<double>(m, "Trial64");
}

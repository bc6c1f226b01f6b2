// The trial, compiled once for each instruction set: LEVEL names the namespace, VECTOR_BYTES the
// vector. Everything here has internal linkage, so that no level's code can serve another.
//
// One trial at a time. Rows of pairs go through the network in blocks small enough that their
// activations stay in the cache, forward and backward of a block in one go. Matrices are row-major,
// their rows padded to the vector with zeros. A bias is the last row of its weights, met by an
// activation that is 1.

namespace fittest {
namespace LEVEL {
namespace {

constexpr int kPad = 8;         // elements to which rows are padded, whatever the instruction set
constexpr int kBlock = 96;      // rows of pairs at a time: a multiple of kTile
constexpr int kTile = 6;        // rows of a register tile; it is two vectors wide
constexpr int kAlign = 64;      // bytes
constexpr double kPi = 3.14159265358979323846;

template <class T, int N>
struct VecOf {
  typedef T type __attribute__((vector_size(N * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T, int N>
using Vec = typename VecOf<T, N>::type;

template <class T>
constexpr int kWide = VECTOR_BYTES / sizeof(T);

inline int padded(int n) { return (n + kPad - 1) / kPad * kPad; }

template <class V, class T>
inline V load(const T* x) { return *reinterpret_cast<const V*>(x); }
template <class V, class T>
inline void store(T* x, V v) { *reinterpret_cast<V*>(x) = v; }

// ---- C (m × n) = or += A (m × k) · B (k × n). A's element (i, l) is a[i*ar + l*ac].

template <class T, int W, int M, int N, bool Add>
inline void tile(int k, const T* a, std::ptrdiff_t ar, std::ptrdiff_t ac, const T* b, int ldb, T* c,
                 int ldc) {
  using V = Vec<T, W>;
  V sum[M][N];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) sum[i][j] = Add ? load<V>(c + i * ldc + j * W) : V{};
  for (int l = 0; l < k; ++l) {
    V row[N];
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) row[j] = load<V>(b + j * W);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const T x = a[i * ar];
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) sum[i][j] += x * row[j];
    }
    a += ac;
    b += ldb;
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) store<V>(c + i * ldc + j * W, sum[i][j]);
}

template <class T, int W, int N, bool Add>
inline void column(int m, int k, const T* a, std::ptrdiff_t ar, std::ptrdiff_t ac, const T* b,
                   int ldb, T* c, int ldc) {
  int i = 0;
  for (; i + kTile <= m; i += kTile)
    tile<T, W, kTile, N, Add>(k, a + i * ar, ar, ac, b, ldb, c + i * ldc, ldc);
  a += i * ar;
  c += i * ldc;
  switch (m - i) {
    case 1: tile<T, W, 1, N, Add>(k, a, ar, ac, b, ldb, c, ldc); break;
    case 2: tile<T, W, 2, N, Add>(k, a, ar, ac, b, ldb, c, ldc); break;
    case 3: tile<T, W, 3, N, Add>(k, a, ar, ac, b, ldb, c, ldc); break;
    case 4: tile<T, W, 4, N, Add>(k, a, ar, ac, b, ldb, c, ldc); break;
    case 5: tile<T, W, 5, N, Add>(k, a, ar, ac, b, ldb, c, ldc); break;
  }
}

// n is a multiple of kPad.
template <class T, bool Add>
void product(int m, int n, int k, const T* a, std::ptrdiff_t ar, std::ptrdiff_t ac, const T* b,
             int ldb, T* c, int ldc) {
  constexpr int W = kWide<T>;
  int j = 0;
  for (; j + 2 * W <= n; j += 2 * W) column<T, W, 2, Add>(m, k, a, ar, ac, b + j, ldb, c + j, ldc);
  if (j + W <= n) {
    column<T, W, 1, Add>(m, k, a, ar, ac, b + j, ldb, c + j, ldc);
    j += W;
  }
  if constexpr (W > kPad) {
    if (j < n) column<T, W / 2, 1, Add>(m, k, a, ar, ac, b + j, ldb, c + j, ldc);
  }
}

// ---- Elementwise

template <class T> struct ExpOf;
template <> struct ExpOf<float> {
  using Int = std::int32_t;
  static constexpr float low = -87.0f, high = 88.0f, magic = 12582912.0f;  // 1.5·2^23 rounds
  static constexpr float log2e = 1.44269504088896341f, ln2hi = 0.693359375f,
                         ln2lo = -2.12194440e-4f;
  static constexpr int mantissa = 23, bias = 127;
  template <class V> static V poly(V r) {
    V y = V{} + 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    return y * r * r + r + 1.0f;
  }
};
template <> struct ExpOf<double> {
  using Int = std::int64_t;
  static constexpr double low = -708.0, high = 709.0, magic = 6755399441055744.0;  // 1.5·2^52
  static constexpr double log2e = 1.4426950408889634074, ln2hi = 6.93145751953125e-1,
                          ln2lo = 1.42860682030941723212e-6;
  static constexpr int mantissa = 52, bias = 1023;
  template <class V> static V poly(V r) {  // Taylor: the remainder is below 1e-17 for |r| < 0.35
    constexpr double c[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                            1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                            1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5};
    V y = V{} + c[0];
#pragma GCC unroll 16
    for (int i = 1; i < 12; ++i) y = y * r + c[i];
    return y * r * r + r + 1.0;
  }
};

template <class T, int W>
inline Vec<T, W> exp_of(Vec<T, W> x) {
  using E = ExpOf<T>;
  using V = Vec<T, W>;
  using I = Vec<typename E::Int, W>;
  const V low = V{} + E::low, high = V{} + E::high;
  x = x < low ? low : x;
  x = x > high ? high : x;
  const V shifted = x * E::log2e + E::magic;
  const V n = shifted - E::magic;
  const V r = (x - n * E::ln2hi) - n * E::ln2lo;
  const I whole = __builtin_convertvector(n, I);
  const I bits = (whole + E::bias) << E::mantissa;
  V power;
  std::memcpy(&power, &bits, sizeof power);
  return E::poly(r) * power;
}

// h = activation(x), and slope, if there is a place for it, its derivative. x may be h.
template <class T, int W>
inline void activate(bool relu, const Vec<T, W> x, T* h, T* slope) {
  using V = Vec<T, W>;
  if (relu) {
    const V zero = V{}, one = V{} + T(1);
    store<V>(h, x < zero ? zero : x);  // what is not a number stays so
    if (slope) store<V>(slope, x > zero ? one : zero);
    return;
  }
  const V s = T(1) / (T(1) + exp_of<T, W>(-x));
  const V y = x * s;
  store<V>(h, y);
  if (slope) store<V>(slope, s + y * (T(1) - s));
}

// Apply f(W, offset) over n elements, n a multiple of kPad, in whole vectors.
template <class T, class F>
inline void over(int n, F f) {
  constexpr int W = kWide<T>;
  int j = 0;
  for (; j + W <= n; j += W) f(std::integral_constant<int, W>{}, j);
  if constexpr (W > kPad) {
    if (j < n) f(std::integral_constant<int, W / 2>{}, j);
  }
}

template <class T>
struct Buffer {  // aligned, zeroed
  T* data = nullptr;
  std::size_t size = 0;
  explicit Buffer(std::size_t n = 0) : size(n) {
    const std::size_t bytes = (n * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    data = static_cast<T*>(std::aligned_alloc(kAlign, bytes ? bytes : kAlign));
    if (!data) throw std::bad_alloc();
    std::memset(static_cast<void*>(data), 0, bytes);
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
};

template <class T>
class Network final : public Trial<T> {
 public:
  explicit Network(const Spec& spec)
      : s(spec), p(spec.p), d(spec.d), h(spec.width), dp(padded(d)), hp(padded(h)), pp(padded(p)),
        hs(padded(h + 1)),
        offset{0, std::size_t(p) * dp},
        x1(kBlock * hs), d1(kBlock * hs), x2(kBlock * hs), d2(kBlock * hs), z(kBlock * pp),
        back(kBlock * hs), from_a(std::size_t(p) * hp), from_b(std::size_t(p) * hp),
        g_a(std::size_t(p) * hp), g_b(std::size_t(p) * hp), w1t(2 * std::size_t(h) * dp),
        w2t(std::size_t(h) * hp), w3t(std::size_t(p) * hp), waves(2 * std::size_t(bins()) * p),
        tokens(std::size_t(p) * dp), spectrum(2 * std::size_t(bins()) * dp) {
    // embedding, w1, b1, [w2; b2], [w3; b3]
    const std::size_t sizes[] = {std::size_t(p) * dp, 2 * std::size_t(d) * hp, std::size_t(hp),
                                 std::size_t(h + 1) * hp, std::size_t(h + 1) * pp};
    std::size_t total = 0;
    for (int i = 0; i < 5; ++i) { offset[i] = total; total += sizes[i]; }
    offset[5] = total;
    for (auto& b : flat) b = std::make_unique<Buffer<T>>(total);
    for (int r = 0; r < kBlock; ++r) x1.data[r * hs + h] = x2.data[r * hs + h] = T(1);
    for (int k = 0; k < bins(); ++k)
      for (int n = 0; n < p; ++n) {
        const double turn = 2 * kPi * (std::int64_t(k) * n % p) / p;
        waves.data[(2 * k) * p + n] = std::cos(turn);
        waves.data[(2 * k + 1) * p + n] = std::sin(turn);
      }
  }

  void set(int which, const Arrays<T>& arrays) override {
    fresh = false;
    move(which, const_cast<Arrays<T>&>(arrays), true);
  }
  Arrays<T> get(int which) const override {
    Arrays<T> out;
    for (std::size_t n : {std::size_t(p) * d, 2 * std::size_t(d) * h, std::size_t(h),
                          std::size_t(h) * h, std::size_t(h), std::size_t(h) * p, std::size_t(p)})
      out.emplace_back(n);
    const_cast<Network*>(this)->move(which, out, false);
    return out;
  }

  Scores gradient(bool scores) override {
    T* g = flat[3]->data;
    std::memset(static_cast<void*>(g), 0, flat[3]->size * sizeof(T));
    std::memset(static_cast<void*>(g_a.data), 0, g_a.size * sizeof(T));
    std::memset(static_cast<void*>(g_b.data), 0, g_b.size * sizeof(T));
    const T *e = at(0, 0), *w1 = at(0, 1);
    for (int half = 0; half < 2; ++half)
      transpose(w1 + std::size_t(half) * d * hp, d, h, hp, w1t.data + std::size_t(half) * h * dp, dp);
    transpose(at(0, 3), h, h, hp, w2t.data, hp);
    transpose(at(0, 4), h, p, pp, w3t.data, hp);
    first_layer();
    Scores total = pass<true>(s.train, scores);
    // Back through the first layer: two products a token, not a pair.
    T *ge = at(3, 0), *gw1 = at(3, 1), *gb1 = at(3, 2);
    product<T, true>(d, hp, p, e, 1, dp, g_a.data, hp, gw1, hp);
    product<T, true>(d, hp, p, e, 1, dp, g_b.data, hp, gw1 + std::size_t(d) * hp, hp);
    product<T, true>(p, dp, h, g_a.data, hp, 1, w1t.data, dp, ge, dp);
    product<T, true>(p, dp, h, g_b.data, hp, 1, w1t.data + std::size_t(h) * dp, dp, ge, dp);
    for (int n = 0; n < p; ++n) add_row(gb1, g_a.data + std::size_t(n) * hp, hp);
    return total;
  }

  Scores test() override {
    first_layer();
    return pass<false>(s.test, true);
  }

  // The DFT over tokens, in float64: in float32 its own rounding, not the network's, would be the
  // floor of the dead.
  std::vector<double> bin_norms(int which) override {
    const T* e = at(which, 0);
    for (std::size_t i = 0; i < tokens.size; ++i) tokens.data[i] = e[i];
    product<double, false>(2 * bins(), dp, p, waves.data, p, 1, tokens.data, dp, spectrum.data, dp);
    std::vector<double> norms(bins());
    for (int k = 0; k < bins(); ++k) {
      const double* row = spectrum.data + 2 * std::size_t(k) * dp;
      norms[k] = std::sqrt(squares(row, 2 * dp));
    }
    return norms;
  }

  double norm() override { return std::sqrt(squares(flat[0]->data, offset[5])); }

  void update() override {
    fresh = false;
    const double t = double(++this->step);
    const double c1 = 1 - std::pow(s.beta1, t), c2 = 1 - std::pow(s.beta2, t);
    const T decay = T(1 - s.lr * s.weight_decay), b1 = T(1 - s.beta1), b2 = T(s.beta2);
    const T b2c = T(1 - s.beta2), rate = T(s.lr / c1), root = T(1 / std::sqrt(c2)), eps = T(s.eps);
    const std::size_t first = s.frozen ? offset[1] : 0, last = offset[5];
    T *__restrict x = flat[0]->data, *__restrict m = flat[1]->data, *__restrict v = flat[2]->data;
    const T* __restrict g = flat[3]->data;
    for (std::size_t i = first; i < last; ++i) {
      m[i] += b1 * (g[i] - m[i]);
      v[i] = v[i] * b2 + b2c * g[i] * g[i];
      x[i] = x[i] * decay - rate * m[i] / (std::sqrt(v[i]) * root + eps);
    }
  }

 private:
  T* at(int which, int array) { return flat[which]->data + offset[array]; }

  int bins() const { return p / 2 + 1; }

  // The sum of squares in float64; eight sums side by side, since one would wait for itself.
  template <class X>
  static double squares(const X* x, std::size_t n) {
    double sums[kPad] = {};
    for (std::size_t i = 0; i < n; i += kPad)
      for (int j = 0; j < kPad; ++j) sums[j] += double(x[i + j]) * double(x[i + j]);
    double sum = 0;
    for (double each : sums) sum += each;
    return sum;
  }

  void add_row(T* to, const T* from, int n) {
    over<T>(n, [&](auto w, int j) {
      using V = Vec<T, decltype(w)::value>;
      store<V>(to + j, load<V>(to + j) + load<V>(from + j));
    });
  }

  static void transpose(const T* from, int rows, int columns, int ld, T* to, int ldt) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) to[std::size_t(j) * ldt + i] = from[std::size_t(i) * ld + j];
  }

  void first_layer() {
    if (fresh) return;
    fresh = true;
    const T *e = at(0, 0), *w1 = at(0, 1), *b1 = at(0, 2);
    for (int n = 0; n < p; ++n) std::memcpy(from_a.data + std::size_t(n) * hp, b1, hp * sizeof(T));
    product<T, true>(p, hp, d, e, dp, 1, w1, hp, from_a.data, hp);
    product<T, false>(p, hp, d, e, dp, 1, w1 + std::size_t(d) * hp, hp, from_b.data, hp);
  }

  // Forward, and backward if asked, of all pairs given, block by block.
  template <bool Backward>
  Scores pass(const std::vector<std::int32_t>& pairs, bool scores) {
    const int total = int(pairs.size());
    Scores sum;
    for (int begin = 0; begin < total; begin += kBlock) {
      const int rows = std::min(kBlock, total - begin);
      const std::int32_t* pair = pairs.data() + begin;
      for (int r = 0; r < rows; ++r) {
        const T* a = from_a.data + std::size_t(pair[r] / p) * hp;
        const T* b = from_b.data + std::size_t(pair[r] % p) * hp;
        T *x = x1.data + r * hs, *slope = d1.data + r * hs;
        over<T>(hp, [&](auto w, int j) {
          constexpr int W = decltype(w)::value;
          using V = Vec<T, W>;
          activate<T, W>(s.relu, load<V>(a + j) + load<V>(b + j), x + j,
                         Backward ? slope + j : nullptr);
        });
        x[h] = T(1);
      }
      product<T, false>(rows, hp, h + 1, x1.data, hs, 1, at(0, 3), hp, x2.data, hs);
      for (int r = 0; r < rows; ++r) {
        T *x = x2.data + r * hs, *slope = d2.data + r * hs;
        over<T>(hp, [&](auto w, int j) {
          constexpr int W = decltype(w)::value;
          activate<T, W>(s.relu, load<Vec<T, W>>(x + j), x + j, Backward ? slope + j : nullptr);
        });
        x[h] = T(1);
      }
      product<T, false>(rows, pp, h + 1, x2.data, hs, 1, at(0, 4), pp, z.data, pp);
      const Scores block = losses(pair, rows, total, scores);
      sum.loss += block.loss;
      sum.accuracy += block.accuracy;
      if (!Backward) continue;
      product<T, true>(h + 1, pp, rows, x2.data, 1, hs, z.data, pp, at(3, 4), pp);
      product<T, false>(rows, hp, p, z.data, pp, 1, w3t.data, hp, back.data, hs);
      through(rows, d2.data);
      product<T, true>(h + 1, hp, rows, x1.data, 1, hs, back.data, hs, at(3, 3), hp);
      product<T, false>(rows, hp, h, back.data, hs, 1, w2t.data, hp, x2.data, hs);
      for (int r = 0; r < rows; ++r) {
        T* a = g_a.data + std::size_t(pair[r] / p) * hp;
        T* b = g_b.data + std::size_t(pair[r] % p) * hp;
        const T *x = x2.data + r * hs, *slope = d1.data + r * hs;
        over<T>(hp, [&](auto w, int j) {
          using V = Vec<T, decltype(w)::value>;
          const V g = load<V>(x + j) * load<V>(slope + j);
          store<V>(a + j, load<V>(a + j) + g);
          store<V>(b + j, load<V>(b + j) + g);
        });
      }
    }
    sum.loss /= total;
    sum.accuracy /= total;
    return sum;
  }

  void through(int rows, const T* slopes) {
    for (int r = 0; r < rows; ++r) {
      T* g = back.data + r * hs;
      const T* slope = slopes + r * hs;
      over<T>(hp, [&](auto w, int j) {
        using V = Vec<T, decltype(w)::value>;
        store<V>(g + j, load<V>(g + j) * load<V>(slope + j));
      });
    }
  }

  // The sum of a row of logits, kPad sums side by side: one alone would wait for itself.
  T lanes(const T* logit) const {
    using V8 = Vec<T, kPad>;
    V8 sums = V8{};
    for (int j = 0; j < pp; j += kPad) sums += load<V8>(logit + j);
    T sum = 0;
    for (int i = 0; i < kPad; ++i) sum += sums[i];
    return sum;
  }

  // Turn the logits of a block of pairs into the gradient of the mean loss over `total` pairs. The
  // exact form: the true class's gradient is minus the sum of the others', and nothing cancels.
  // Each loop goes over all rows, since a vector loaded right after one of its elements was stored
  // would wait.
  Scores losses(const std::int32_t* pair, int rows, int total, bool scores) {
    using V8 = Vec<T, kPad>;  // as in lanes()
    const T none = -std::numeric_limits<T>::infinity();
    T truth[kBlock] = {}, largest[kBlock] = {}, top[kBlock] = {}, own[kBlock] = {};
    const auto at_label = [&](int r) -> T& { return z.data[r * pp + s.label[pair[r]]]; };
    const auto set_pads = [&](int r, T value) {
      for (int j = p; j < pp; ++j) z.data[r * pp + j] = value;
    };
    for (int r = 0; r < rows; ++r) {
      truth[r] = at_label(r);
      at_label(r) = none;
      set_pads(r, none);
    }
    for (int r = 0; r < rows; ++r) {
      T* logit = z.data + r * pp;
      V8 most = load<V8>(logit);
      for (int j = kPad; j < pp; j += kPad) {
        const V8 x = load<V8>(logit + j);
        most = x > most ? x : most;
      }
      T one = most[0];
      for (int i = 1; i < kPad; ++i) one = most[i] > one ? most[i] : one;
      largest[r] = one;
      top[r] = s.naive && truth[r] > one ? truth[r] : one;
      over<T>(pp, [&](auto w, int j) {
        constexpr int W = decltype(w)::value;
        store<Vec<T, W>>(logit + j, exp_of<T, W>(load<Vec<T, W>>(logit + j) - top[r]));
      });
    }
    over<T>(kBlock, [&](auto w, int r) {
      constexpr int W = decltype(w)::value;
      using V = Vec<T, W>;
      store<V>(own + r, exp_of<T, W>(load<V>(truth + r) - load<V>(top + r)));
    });
    for (int r = 0; r < rows; ++r) {
      at_label(r) = 0;
      set_pads(r, 0);
    }
    Scores sum;
    for (int r = 0; r < rows; ++r) {
      T* logit = z.data + r * pp;
      const T each = own[r], others = lanes(logit);
      if (scores) {  // softplus of the margin, log(others / each), without cancellation
        sum.loss += each < others ? std::log(others + each) + (top[r] - truth[r])
                                  : std::log1p(others / each);
        sum.accuracy += truth[r] > largest[r] ? 1.0 : 0.0;
      }
      T factor;
      if (s.naive) {
        // As frameworks have it: softmax - 1, with the softmax from its logarithm, and a sum over
        // all classes, in which the small terms that meet the true class's 1 are lost.
        at_label(r) = each;
        const T all = lanes(logit);
        factor = T(1) / T(total) / all;
        own[r] = std::exp(truth[r] - top[r] - std::log(all)) * (T(1) / T(total)) - T(1) / T(total);
      } else {
        const T share = T(1) / ((T(1) + each / others) * T(total));
        factor = share / others;
        own[r] = -share;
      }
      over<T>(pp, [&](auto w, int j) {
        using V = Vec<T, decltype(w)::value>;
        store<V>(logit + j, load<V>(logit + j) * factor);
      });
    }
    for (int r = 0; r < rows; ++r) at_label(r) = own[r];
    return sum;
  }

  void move(int which, Arrays<T>& arrays, bool in) {
    struct Place { int array, first, rows, columns, ld; };
    const Place places[] = {{0, 0, p, d, dp}, {1, 0, 2 * d, h, hp}, {2, 0, 1, h, hp},
                            {3, 0, h, h, hp}, {3, h, 1, h, hp},     {4, 0, h, p, pp},
                            {4, h, 1, p, pp}};
    for (int i = 0; i < 7; ++i) {
      const Place& q = places[i];
      for (int r = 0; r < q.rows; ++r) {
        T* inside = at(which, q.array) + std::size_t(q.first + r) * q.ld;
        T* outside = arrays[i].data() + std::size_t(r) * q.columns;
        std::memcpy(in ? inside : outside, in ? outside : inside, q.columns * sizeof(T));
      }
    }
  }

  const Spec s;
  bool fresh = false;  // from_a and from_b are of the present parameters
  const int p, d, h, dp, hp, pp, hs;
  std::size_t offset[6];
  Buffer<T> x1, d1, x2, d2, z, back, from_a, from_b, g_a, g_b, w1t, w2t, w3t;
  Buffer<double> waves, tokens, spectrum;  // cosines and sines of each bin, over tokens
  std::unique_ptr<Buffer<T>> flat[4];  // parameters, first and second moment, gradient
};

}  // namespace

std::unique_ptr<Trial<float>> make_float(const Spec& s) { return std::make_unique<Network<float>>(s); }
std::unique_ptr<Trial<double>> make_double(const Spec& s) { return std::make_unique<Network<double>>(s); }

}  // namespace LEVEL
}  // namespace fittest

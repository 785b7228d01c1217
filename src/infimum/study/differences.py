"""Every way in which the study here differs from the paper's, for its results page."""

from __future__ import annotations

DIFFERENCES = (
    "Data: CIFAR-10 from a public JPEG copy (quality 75) where the data folder holds one; HAM10000 with 5,984 of its "
    "10,015 images (one per lesion), reduced to 64×64, split 3 : 1 into training and test. The test part of HAM10000 "
    "has 1,497 images: 1,197 for D_eval, 150 for D_cal and 150 for D_tun, so λ(x) is at most 150/151.",
    "HAM10000's network: five convolutions, 128 features, 64×64 images, 50 epochs, flips and right-angle turns, the "
    "loss weighted by the root of the inverse class frequency. The authors fine-tune an ImageNet InceptionResNetV2 "
    "with soft attention at 299×299. The accuracies are therefore not comparable there.",
    "HAM10000's D_gaus: in fidelity mode all of D_train, as in the paper, where it lies in D_train; in recommended "
    "mode a disjoint fifth of the training file. The networks are the same: none is trained on that fifth.",
    "Frameworks: PyTorch instead of Keras, with PyTorch's initialisation and batch norm; adam's step 0.001, batch 128, "
    "15 epochs, and 10 % of D_train watched for validation only, as in the authors' code. CIFAR-10 worst is far better "
    "here than in the paper: batch norm in Keras follows the training data ten times more slowly, and after the few "
    "steps of that network its statistics are not there yet. `benchmarks/batch_norm.py` trains it both ways.",
    "Fidelity mode samples the logits directly: a mixture of Gaussians behind a linear head is exactly a mixture of "
    "Gaussians (METHOD, push-forward). The law is that of the paper's sampling in feature space. It always runs "
    "the 50 iterations of 20,000 samples, rather than stopping when two means lie close, and averages samples only, "
    "as the paper's text says.",
    "The mixture of fidelity mode starts EM from class means alone, as the authors' code does.",
    "k_reg is tuned once per calibration, not at every error level (which makes sets that are not nested), and each "
    "input has one random draw for all levels. λ is computed in closed form; a test compares it with the loop.",
    "An input whose set never has exactly one label keeps its top label (its level is 1 − p_(2)); the paper's loop "
    "would not end on it.",
    "Each network is trained once, and D_gaus and its mixture are made once; a repetition redraws D_eval, D_cal, "
    "D_tun, the random draws of the scores and the samples. `--retrain` trains anew for each repetition.",
)
